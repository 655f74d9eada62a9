package bunid

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// Use checks models and returns db with a guard that will check every query. The original db
// shouldn't be used anymore after this, because it doesn't have the guard.
//
// Models registered with db are checked as well as the listed ones. Use also registers the
// listed models, since bun needs this for relations and the guard needs it for inserting
// maps. The error is a [*FieldError] if a model's key wouldn't be filled (or not correctly),
// or several of these joined.
//
// The most common mistake is a BeforeInsert that shadows [Filled]. To detect it, Use calls
// BeforeInsert once with an empty row, a cancelled context, and a query that's never sent. A
// custom BeforeInsert should therefore call [Fill] before doing anything else, and return
// its error. Use doesn't make this call if the key comes from the database (e.g. an int64
// with autoincrement), or if a model isn't listed and its key can't be filled. Models that
// Use doesn't know about are checked when their first row is inserted.
//
// The guard is a [bun.QueryHook], and is needed because bun doesn't run model hooks for
// every statement. A statement that would insert rows without keys fails with a [*RowError]
// before it's sent. This affects maps without a key, INSERT … SELECT and MERGE using rows
// from NewValues, INSERT inside WITH, and models whose hook doesn't run. After failing this
// way, a query can't be executed again. The guard ignores handwritten SQL, and is safe for
// concurrent use.
func Use(db *bun.DB, models ...any) (*bun.DB, error) {
	g, err := newGuard(db, models)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, t := range db.Dialect().Tables().All() {
		if err := errors.Join(g.verdictOn(db, t).err, g.mismatched(db, t)); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return nil, errors.Join(errs...)
	}
	return db.WithQueryHook(g), nil
}

// newGuard registers models, and returns a guard for them.
func newGuard(db *bun.DB, models []any) (*guard, error) {
	g := &guard{listed: make(map[reflect.Type]bool)}
	for _, model := range models {
		t := reflect.TypeOf(model)
		if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
			return nil, fault(fmt.Sprintf("%T", model), "is not a model", "list pointers to structs, as in (*User)(nil)")
		}
		g.listed[t.Elem()] = true
	}
	db.RegisterModel(models...)
	return g, nil
}

// A verdict is the result of checking a model.
type verdict struct {
	filled bool  // its BeforeInsert calls Fill
	err    error // why its key isn't filled, or not correctly, if it should be
}

// verdictOn returns the verdict on a model, which it checks only once.
func (g *guard) verdictOn(db *bun.DB, t *schema.Table) verdict {
	if v, ok := g.verdicts.Load(t); ok {
		return v.(verdict)
	}
	v := judge(db, t, g.listed[t.Type])
	g.verdicts.Store(t, v)
	return v
}

func judge(db *bun.DB, t *schema.Table, listed bool) verdict {
	var r dryRun
	hook, hooked := t.ZeroIface.(bun.BeforeInsertHook)
	embeds := embedsFilled(t.Type)
	if hooked && (embeds || mayFill(t, listed)) {
		r.run(db, t, hook)
	}
	switch {
	case r.reached:
		_, err := keyOf(t)
		if err == nil {
			err = referred(db, t)
		}
		return verdict{filled: true, err: err}
	case !embeds && (given(t) != "" || !keytype.IsPK(t.PKs[0].IndirectType)):
		return verdict{} // not filled by this package
	case r.panicked != nil:
		return verdict{err: fault(modelName(t), fmt.Sprintf("has a BeforeInsert that panics for an empty row: %v", r.panicked),
			"call bunid.Fill first in it, and embed the struct that has it by value")}
	case embeds && hooked:
		return verdict{err: fault(modelName(t), "has a BeforeInsert of its own, which shadows that of bunid.Filled",
			"begin it with: if err := bunid.Fill(ctx, query, nil); err != nil { return err }")}
	case embeds:
		return verdict{err: fault(modelName(t), "embeds bunid.Filled beside another BeforeInsert, so that Go promotes neither",
			"give it a BeforeInsert of its own that calls bunid.Fill and the other")}
	}
	k, err := keyOf(t)
	if err == nil {
		err = k.Fault("is not filled",
			`embed bunid.Filled, call bunid.Fill in BeforeInsert, or tag the key snowkey:"-" if it is always set before`)
	}
	return verdict{err: err}
}

// mayFill reports whether the BeforeInsert of t may fill the key, in which case we have to
// call it to find out. If the model isn't listed, we only do so if its key can be filled.
func mayFill(t *schema.Table, listed bool) bool {
	if len(t.PKs) == 1 {
		if f := t.PKs[0]; (numbered(f) || f.SQLDefault != "") && !keytype.IsPK(f.IndirectType) {
			return false
		}
	}
	if listed {
		return true
	}
	_, err := keyOf(t)
	return err == nil
}

// embedsFilled reports whether t embeds Filled at any depth, even if Go doesn't promote its
// method. It's inside the types outer, which may embed pointers to themselves.
func embedsFilled(t reflect.Type, outer ...reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(outer, t) {
		return false
	}
	for f := range t.Fields() {
		if f.Anonymous && embedsFilled(f.Type, append(outer, t)...) {
			return true
		}
	}
	return t == reflect.TypeFor[Filled]()
}

// referred returns an error if another model has a has-one or has-many relation that
// uses the key of t as its foreign key.
func referred(db *bun.DB, t *schema.Table) error {
	for _, other := range db.Dialect().Tables().All() {
		for _, rel := range other.Relations {
			if (rel.Type == schema.HasOneRelation || rel.Type == schema.HasManyRelation) &&
				rel.JoinTable.Type == t.Type && slices.ContainsFunc(rel.JoinPKs, func(f *schema.Field) bool { return f.Name == t.PKs[0].Name }) {
				return newKey(t.PKs[0], t).Fault("is a foreign key by "+modelName(other)+"."+rel.Field.GoName, `tag it snowkey:"-", and set it yourself`)
			}
		}
	}
	return nil
}

// mismatched returns an error for each foreign key whose type differs from that of the key it
// refers to. bun matches the rows of has-many and m2m relations by their Go values, so it
// wouldn't find any rows if the types are different.
func (g *guard) mismatched(db *bun.DB, t *schema.Table) error {
	var errs []error
	filled := func(t *schema.Table, f *schema.Field) bool {
		return keytype.IsPK(f.IndirectType) || g.verdictOn(db, t).filled
	}
	compare := func(from, to *schema.Table, foreign, keys []*schema.Field) {
		for i, f := range foreign {
			if i >= len(keys) || f.IndirectType == keys[i].IndirectType || !filled(from, f) && !filled(to, keys[i]) {
				continue
			}
			errs = append(errs, newKey(f, from).Fault(fmt.Sprintf("is of another type than %s.%s (%s), to which it refers", modelName(to), keys[i].GoName, keys[i].StructField.Type),
				"declare it as "+keys[i].IndirectType.String()+", or a pointer to that"))
		}
	}
	for _, rel := range t.Relations {
		switch rel.Type {
		case schema.HasManyRelation:
			compare(rel.JoinTable, t, rel.JoinPKs, rel.BasePKs)
		case schema.ManyToManyRelation:
			compare(rel.M2MTable, t, rel.M2MBasePKs, rel.BasePKs)
			compare(rel.M2MTable, rel.JoinTable, rel.M2MJoinPKs, rel.JoinPKs)
		}
	}
	return errors.Join(errs...)
}

// A dryRun calls a model's BeforeInsert to find out whether it calls Fill. We can't use
// reflection for this. It doesn't show which type a method comes from, and a model's own
// method may call Fill, too.
type dryRun struct {
	reached  bool
	panicked any
}

var errDryRun = errors.New("bunid: Use called BeforeInsert to check the model")

type dryRunKey struct{}

func (r *dryRun) run(db *bun.DB, t *schema.Table, hook bun.BeforeInsertHook) {
	defer func() { r.panicked = recover() }()
	row := reflect.New(t.Type)
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), dryRunKey{}, r))
	cancel(errDryRun)
	if err := hook.BeforeInsert(ctx, db.NewInsert().Model(row.Interface())); err == nil && len(t.PKs) == 1 {
		r.reached = r.reached || !t.PKs[0].HasZeroValue(row.Elem()) // it fills the key without Fill
	}
}
