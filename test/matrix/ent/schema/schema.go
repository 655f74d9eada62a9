// Package schema has one entity for every type of key that ent supports.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/matrix/keys"
)

// These are the entities.
type (
	IDItem       struct{ ent.Schema }
	TypedItem    struct{ ent.Schema }
	PrefixedItem struct{ ent.Schema }
	PublicItem   struct{ ent.Schema }
	StringItem   struct{ ent.Schema }
	TextItem     struct{ ent.Schema }
	SortItem     struct{ ent.Schema }
)

func (IDItem) Mixin() []ent.Mixin    { return []ent.Mixin{entid.For[pk.ID]{}, cells{}} }
func (TypedItem) Mixin() []ent.Mixin { return []ent.Mixin{entid.For[keys.ItemID]{}, cells{}} }
func (PrefixedItem) Mixin() []ent.Mixin {
	return []ent.Mixin{entid.For[keys.PrefixedItemID]{Alias: "PrefixedItemID"}, cells{}}
}
func (PublicItem) Mixin() []ent.Mixin {
	return []ent.Mixin{entid.For[keys.PublicItemID]{Alias: "PublicItemID"}, cells{}}
}
func (StringItem) Mixin() []ent.Mixin { return []ent.Mixin{entid.For[pk.String]{}, cells{}} }
func (TextItem) Mixin() []ent.Mixin   { return []ent.Mixin{entid.For[pk.Text]{}, cells{}} }
func (SortItem) Mixin() []ent.Mixin   { return []ent.Mixin{entid.For[pk.SortText]{}, cells{}} }

func (IDItem) Edges() []ent.Edge       { return parts(IDItem.Type) }
func (TypedItem) Edges() []ent.Edge    { return parts(TypedItem.Type) }
func (PrefixedItem) Edges() []ent.Edge { return parts(PrefixedItem.Type) }
func (PublicItem) Edges() []ent.Edge   { return parts(PublicItem.Type) }
func (StringItem) Edges() []ent.Edge   { return parts(StringItem.Type) }
func (TextItem) Edges() []ent.Edge     { return parts(TextItem.Type) }
func (SortItem) Edges() []ent.Edge     { return parts(SortItem.Type) }

// cells defines the fields of an item other than its key.
type cells struct{ mixin.Schema }

func (cells) Fields() []ent.Field {
	return []ent.Field{field.String("name").Unique(), field.Int("n")}
}

// parts makes an item the parent of others.
func parts(item any) []ent.Edge {
	return []ent.Edge{
		edge.To("parts", item).StorageKey(edge.Column("parent_id")),
		edge.From("parent", item).Ref("parts").Unique(),
	}
}
