package entid

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"

	"entgo.io/ent"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/fill"
	"github.com/snowkey-go/snowkey/internal/keytype"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// Hook returns a hook that fills ids from src. It's for programs that have several pools, or
// whose schemas declare ids without [Mixin]:
//
//	client.Use(entid.Hook(src))             // every entity
//	client.Order.Use(entid.Hook(orders))    // one of them
//
// A nil src means [idgen.Default], looked up whenever a row is created. As a consequence,
// entid.Hook(idgen.Default()) even works in a package variable, which is initialized before
// SetDefault is called. With an [*idgen.Backfill], the time in an id is taken from the row's
// created_at field.
//
// Only ids with a type from package pk are filled. It's fine to combine Hook and a mixin:
// client hooks run first, and the mixin will keep the id it finds.
func Hook(src idgen.Source) ent.Hook {
	if pool, ok := src.(*idgen.Pool); ok && pool == nil {
		src = nil
	}
	return hook(src, "", untyped)
}

// hook returns a hook that fills the ids of new rows from src, or if it's nil, from the
// generator of this name. find returns the slot for the id of a row, or nil if we should leave
// it alone.
func hook(src idgen.Source, name string, find func(ent.Mutation) (*slot, error)) ent.Hook {
	return func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			if !m.Op().Is(ent.OpCreate) {
				return next.Mutate(ctx, m)
			}
			id, err := find(m)
			switch {
			case err != nil:
				return nil, err
			case id == nil:
				return next.Mutate(ctx, m)
			case id.empty():
				if err := fillID(ctx, src, name, m, id); err != nil {
					return nil, err
				}
			}
			v, err := next.Mutate(ctx, m)
			if err == nil && id.empty() {
				return nil, errorsOf(m).Fault("was inserted but came back as 0, which ent does to numeric fields in a bulk create on MySQL",
					"let entid.Mixin or entid.Field declare it, not field.Int64")
			}
			return v, err
		})
	}
}

// fillID fills the id of a row. The default pool is looked up here because SetDefault runs after
// the schema's package was initialised.
func fillID(ctx context.Context, src idgen.Source, name string, m ent.Mutation, id *slot) error {
	if src == nil {
		src = idgen.Default().Named(name)
	}
	if _, past := src.(*idgen.Backfill); !past {
		src = reserving{src}
	}
	k := fill.Key{Package: "entid", Model: m.Type()} // the type of the id would take 2 µs
	ids, err := k.Draw(ctx, src, []int{-1}, func(_ int, name string) any { return valueOf(m, name) })
	if err != nil {
		return err
	}
	return id.fill(ids[0])
}

// valueOf returns the value of a field, such as created_at for the name CreatedAt.
func valueOf(m ent.Mutation, name string) any {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	for _, f := range m.Fields() {
		if plain(f) == plain(name) {
			value, _ := m.Field(f)
			return value
		}
	}
	return nil
}

// A slot is the id of a mutation, which a hook reads and sets.
type slot struct {
	read  func() reflect.Value
	write func(reflect.Value)
}

func (s *slot) empty() bool { return keytype.Empty(s.read()) }

func (s *slot) fill(n int64) error {
	id := reflect.New(s.read().Type())
	if err := id.Interface().(sql.Scanner).Scan(n); err != nil {
		return err
	}
	s.write(id.Elem())
	return nil
}

// keyed is implemented by the generated mutations of entities with a declared
// id of type T.
type keyed[T any] interface {
	ID() (id T, exists bool)
	SetID(T)
}

func slotOf[T any](m keyed[T]) *slot {
	return &slot{
		read:  func() reflect.Value { id, _ := m.ID(); return reflect.ValueOf(id) },
		write: func(id reflect.Value) { m.SetID(id.Interface().(T)) },
	}
}

// typed returns the slot of an id of type T. It returns nil for an edge schema with a
// composite id, and an error if the id has another type.
func typed[T Key](m ent.Mutation) (*slot, error) {
	if m, ok := m.(keyed[T]); ok {
		return slotOf(m), nil
	}
	if idType(m) != nil {
		return nil, errorsOf(m).Fault(fmt.Sprintf("is not of the type that the mixin fills, %s", reflect.TypeFor[T]()), "remove the field from the schema, or use entid.For of its type")
	}
	return nil, nil
}

// untyped returns the slot of an id of any type of package pk, or nil for other ids. Calls by
// reflection take 2 µs, so it avoids them for the types that it can name.
func untyped(m ent.Mutation) (*slot, error) {
	switch m := m.(type) {
	case keyed[pk.ID]:
		return slotOf(m), nil
	case keyed[pk.Text]:
		return slotOf(m), nil
	case keyed[pk.SortText]:
		return slotOf(m), nil
	}
	if t := idType(m); t == nil || !keytype.IsPK(t) {
		return nil, nil
	}
	id, set := reflect.ValueOf(m).MethodByName("ID"), reflect.ValueOf(m).MethodByName("SetID")
	return &slot{
		read:  func() reflect.Value { return id.Call(nil)[0] },
		write: func(id reflect.Value) { set.Call([]reflect.Value{id}) },
	}, nil
}

// errorsOf describes the id of a mutation for errors. The mutation must have an id.
func errorsOf(m ent.Mutation) *fill.Key {
	return &fill.Key{Package: "entid", Model: m.Type(), Field: "id", Type: idType(m).String()}
}

// idType returns the type of the id that m can set. It returns nil if the id is composite or
// if it's the one that ent declares by default.
func idType(m ent.Mutation) reflect.Type {
	set, ok := reflect.TypeOf(m).MethodByName("SetID")
	if !ok || set.Type.NumIn() != 2 {
		return nil
	}
	return set.Type.In(1)
}
