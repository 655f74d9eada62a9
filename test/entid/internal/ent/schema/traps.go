package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// Item has a numeric key, which ent believes was chosen by MySQL.
type Item struct{ ent.Schema }

func (Item) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Item) Fields() []ent.Field {
	return []ent.Field{field.Int64("id").GoType(pk.ID(0)), field.String("name")}
}

func (Item) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("boxes", Box.Type),
	}
}

// Box has a numeric key too, but its column doesn't count.
type Box struct{ ent.Schema }

func (Box) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Box) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(pk.ID(0)).Annotations(entsql.Annotation{Incremental: new(bool)}),
		field.String("name"),
	}
}

func (Box) Edges() []ent.Edge {
	return []ent.Edge{edge.From("items", Item.Type).Ref("boxes")}
}

// Shelf has a narrow key, whose type the mixin doesn't fill in.
type Shelf struct{ ent.Schema }

func (Shelf) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Shelf) Fields() []ent.Field {
	return []ent.Field{field.Int32("id"), field.String("name")}
}

// Plain has the key that ent gives an entity by default.
type Plain struct{ ent.Schema }

func (Plain) Fields() []ent.Field { return []ent.Field{field.String("name")} }

// Twin has a key that is the foreign key of its box as well.
type Twin struct{ ent.Schema }

func (Twin) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Twin) Fields() []ent.Field { return []ent.Field{field.String("name")} }

func (Twin) Edges() []ent.Edge {
	return []ent.Edge{edge.To("box", Box.Type).Unique().StorageKey(edge.Column("id"))}
}
