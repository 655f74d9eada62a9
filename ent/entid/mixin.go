package entid

import (
	"database/sql/driver"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A Key is a type of package pk, which an id can have.
type Key interface {
	comparable
	driver.Valuer
	IsZero() bool
	GormDataType() string // the type of its column, the same on every database
}

// Mixin gives a schema an id of type [pk.ID] in a BIGINT column, and the hook
// that fills it.
//
//	func (User) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }
type Mixin = For[pk.ID]

// For is [Mixin] for ids of another type: [pk.Text] or [pk.SortText] in a text
// column, [pk.String], or a typed key.
//
//	entid.For[pk.SortText]{}
//	entid.For[keys.UserID]{} // type UserID = pk.Of[User]
//
// The zero value is ready to use. The pool is looked up when a row is created, and not
// when the schema is loaded.
type For[T Key] struct {
	mixin.Schema

	// Name is the generator that makes the ids: idgen.Default().Named(Name). Defaults
	// to the pool itself, which all tables may share.
	Name string

	// Alias is the name that generated code uses for a typed key; see [Field.Alias].
	Alias string

	// StorageKey is the name of the column, and StructTag the tag of the generated
	// field. For annotations of the field use mixin.AnnotateFields of ent.
	StorageKey, StructTag string
}

// Fields implements [ent.Mixin] with the id.
func (f For[T]) Fields() []ent.Field {
	id := Field[T]{Name: "id", Alias: f.Alias, StorageKey: f.StorageKey, StructTag: f.StructTag}
	return []ent.Field{described{id.Descriptor()}}
}

// described is a field that always returns the same descriptor. mixin.AnnotateFields
// changes what Descriptor returns, and the change must not be lost when ent calls
// Descriptor again.
type described struct{ d *field.Descriptor }

func (f described) Descriptor() *field.Descriptor { return f.d }

// Hooks implements [ent.Mixin] with the hook that fills the id.
func (f For[T]) Hooks() []ent.Hook {
	return []ent.Hook{hook(f.source, typed[T])}
}

// source looks the generator up when a row is created, because SetDefault runs
// after the schema's package is initialised.
func (f For[T]) source() idgen.Source {
	if f.Name == "" {
		return idgen.Default()
	}
	return idgen.Default().Named(f.Name)
}
