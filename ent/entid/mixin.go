package entid

import (
	"database/sql/driver"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// Key is any type from package pk that can be used for an id.
type Key interface {
	comparable
	driver.Valuer
	IsZero() bool
	GormDataType() string // the type of its column, the same on every database
}

// Mixin adds an id to a schema, along with the hook that fills it. The id is a [pk.ID] in a
// BIGINT column.
//
//	func (User) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }
type Mixin = For[pk.ID]

// For is like [Mixin] but for other id types: [pk.Text] or [pk.SortText] for text columns,
// [pk.String], or a typed key.
//
//	entid.For[pk.SortText]{}
//	entid.For[keys.UserID]{} // type UserID = pk.Of[User]
//
// The zero value is ready to use. Loading a schema doesn't require a pool; it's looked up
// when a row is created.
type For[T Key] struct {
	mixin.Schema

	// Name picks a generator, as in idgen.Default().Named(Name). By default, ids come from
	// the pool itself, which can be shared by all tables.
	Name string

	// Alias is a typed key's name in generated code; see [Field.Alias].
	Alias string

	// StorageKey is the column name, and StructTag is the generated field's tag. You can
	// annotate the field using ent's mixin.AnnotateFields.
	StorageKey, StructTag string
}

// Fields implements [ent.Mixin] and returns the id.
func (f For[T]) Fields() []ent.Field {
	id := Field[T]{Name: "id", Alias: f.Alias, StorageKey: f.StorageKey, StructTag: f.StructTag}
	return []ent.Field{described{id.Descriptor()}}
}

// described is a field that always returns the same descriptor. mixin.AnnotateFields changes
// what Descriptor returns, and we must not lose that change when ent calls Descriptor a
// second time.
type described struct{ d *field.Descriptor }

func (f described) Descriptor() *field.Descriptor { return f.d }

// Hooks implements [ent.Mixin] and returns the hook that fills the id.
func (f For[T]) Hooks() []ent.Hook { return []ent.Hook{hook(nil, f.Name, typed[T])} }
