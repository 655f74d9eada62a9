package bunid

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
)

// Filled gives a model keys from [idgen.Default]. It can be embedded directly or in a base
// struct, and doesn't add any fields or columns. A model that declares its own BeforeInsert
// shadows the one doing the work here, so it has to call [Fill]. [Use] reports models that
// forget to.
type Filled struct{}

// BeforeInsert implements [bun.BeforeInsertHook] using [Fill]. bun calls it once per INSERT.
func (*Filled) BeforeInsert(ctx context.Context, q *bun.InsertQuery) error { return Fill(ctx, q, nil) }

// Fill generates keys for those rows of an INSERT that don't have one yet. It's only needed
// in a custom BeforeInsert, e.g. to use a different source or to do some extra work:
//
//	func (*Order) BeforeInsert(ctx context.Context, q *bun.InsertQuery) error {
//		return bunid.Fill(ctx, q, source)
//	}
//
// A nil source means idgen.Default(). With an [*idgen.Pool], the key's tag can pick one of
// its generators. With an [*idgen.Backfill], the time in a key is taken from the row's
// CreatedAt field.
//
// All keys are generated in a single step. If Fill fails, the rows are unchanged and the
// error is a [*FieldError] or a [*RowError] (which wraps the source's error).
func Fill(ctx context.Context, q *bun.InsertQuery, source idgen.Source) error {
	if r, ok := ctx.Value(dryRunKey{}).(*dryRun); ok {
		r.reached = true
		return errDryRun
	}
	model, ok := q.GetModel().(bun.TableModel)
	if !ok {
		return refuse(q.GetTableName(), "has no model", "call Model with a pointer to a struct, or to a slice of structs")
	}
	k, err := keyOf(model.Table())
	if err != nil {
		return err
	}
	r, err := k.rowsOf(model.Value())
	if err != nil {
		return err
	}
	if len(r.keys) > 0 && isPlain(q) {
		_, err := r.fill(ctx, source)
		return err
	}
	as := q
	if len(r.keys) == 0 { // bun panics for a nil pointer, unless the rows come from a query
		as = new(*q)
		as.Model(reflect.New(k.table.Type).Interface())
	}
	s, err := statementOf(as)
	if err != nil {
		return err
	}
	switch {
	case s.unclear:
		return refuse(k.Model, "has SQL with a backslash before a quote, so the end of the text is ambiguous", "pass the text as an argument for a question mark")
	case s.query && isGiven(ctx):
		return nil
	case s.query:
		return unseen(k.table)
	case len(r.keys) == 0:
		return refuse(k.Model, "was given without a row", "pass a pointer to a row, or to a slice that is not empty")
	case !s.writes(k.Name):
		return refuse(k.Model, "would be inserted without its key "+k.Name, "name it in Column, or do not exclude it")
	case k.isOverwritten(q):
		return refuse(k.Model, "has its key set by Value", "set the field "+k.GoName)
	case len(r.zero) == 0: // the caller has set all
		return nil
	case s.replace && len(r.keys) > 1:
		return refuse(k.Model, "may have rows that later rows of the same REPLACE delete", "replace one at a time, or set the keys")
	case s.conflict:
		return r.propose(ctx, q, source)
	}
	_, err = r.fill(ctx, source)
	return err
}

// FillRows generates missing keys without inserting anything. It's for rows that bun inserts
// without running hooks, such as those in NewValues. Like [bun.InsertQuery.Model], it takes a
// pointer to a struct or to a slice. See [Fill] about source and errors.
func FillRows(ctx context.Context, db bun.IDB, rows any, source idgen.Source) error {
	t := reflect.TypeOf(rows)
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return refuse(fmt.Sprintf("%T", rows), "is not a model", "pass a pointer to a struct, or to a slice of structs")
	}
	k, err := keyOf(db.Dialect().Tables().Get(t))
	if err != nil {
		return err
	}
	r, err := k.rowsOf(rows)
	if err == nil {
		_, err = r.fill(ctx, source)
	}
	return err
}

// fill generates the keys that are zero, and sets them in memory. It fails if two of them
// belong to the same row.
func (r *rows) fill(ctx context.Context, source idgen.Source) ([]int64, error) {
	if len(r.zero) == 0 {
		return nil, nil
	}
	ids, err := r.Draw(ctx, source, r.zero, func(i int, name string) any { return fill.FieldOf(r.structs[i], name) })
	if err != nil {
		return nil, err
	}
	for j, i := range r.zero {
		keytype.Set(r.keys[i], ids[j])
	}
	for j, i := range r.zero {
		if id, _ := keytype.Get(r.keys[i]); id != ids[j] {
			for _, i := range r.zero {
				r.keys[i].SetZero()
			}
			return nil, r.Refuse(i, nil, "is in the call a second time", "pass each row once, or copies of it")
		}
	}
	return ids, nil
}

// isOverwritten reports whether a call of Value has replaced the key. bun doesn't have a
// method for this, so we have a copy of the query write nothing but a sample key, and look
// for the sample in the SQL.
func (k *key) isOverwritten(q *bun.InsertQuery) bool {
	row := reflect.New(k.table.Type)
	keytype.Set(k.Field.Value(row.Elem()), math.MaxInt64-1)
	sample := k.AppendValue(q.DB().QueryGen(), nil, row.Elem())
	c := *q
	text, err := c.Model(row.Interface()).ExcludeColumn("*").Column(k.Name).
		AppendQuery(schema.NewQueryGen(probe{q.DB().Dialect(), sample}), nil)
	return err == nil && !bytes.Contains(text, sample)
}

// A probe is the dialect with which isOverwritten writes the query.
type probe struct {
	schema.Dialect
	sample []byte
}
