package entid

import (
	"database/sql/driver"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A Key is a type of package pk that can be used for an id.
type Key interface {
	comparable
	driver.Valuer
	IsZero() bool
	GormDataType() string // the type of its column, the same on every database
}

// Mixin adds an id of type [pk.ID] in a BIGINT column to a schema, together with the hook
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
// The zero value is ready to use. You don't need a pool before the first row is created,
// because it isn't looked up when the schema is loaded.
type For[T Key] struct {
	mixin.Schema

	// Name is the name of the generator to use: idgen.Default().Named(Name). Defaults to
	// the pool itself, which all tables can share.
	Name string

	// Alias is the name of a typed key in generated code; see [Field.Alias].
	Alias string

	// StorageKey is the name of the column, and StructTag is the tag of the generated
	// field. To annotate the field, use ent's mixin.AnnotateFields.
	StorageKey, StructTag string
}

// Fields implements [ent.Mixin] with the id.
func (f For[T]) Fields() []ent.Field {
	id := Field[T]{Name: "id", Alias: f.Alias, StorageKey: f.StorageKey, StructTag: f.StructTag}
	return []ent.Field{described{id.Descriptor()}}
}

// described is a field that always returns the same descriptor. mixin.AnnotateFields changes
// what Descriptor returns, and we must not lose that change when ent calls Descriptor a
// second time.
type described struct{ d *field.Descriptor }

func (f described) Descriptor() *field.Descriptor { return f.d }

// Hooks implements [ent.Mixin] with the hook that fills the id.
func (f For[T]) Hooks() []ent.Hook {
	find := typed[T]
	if f.Name == "" {
		return []ent.Hook{hook(defaultPool, find)}
	}
	return []ent.Hook{hook(func() idgen.Source { return idgen.Default().Named(f.Name) }, find)}
}

// defaultPool is called when a row is created. Earlier there is none, because SetDefault
// runs after the schema's package was initialised.
func defaultPool() idgen.Source { return idgen.Default() }
