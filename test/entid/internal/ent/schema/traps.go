package schema

import (
	"context"
	"errors"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

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

// Secret has a policy and a mixin whose hooks run before that of entid.Mixin. Each of them
// refuses rows of its name that have no id.
type Secret struct{ ent.Schema }

func (Secret) Mixin() []ent.Mixin { return []ent.Mixin{early{}, entid.Mixin{}} }

func (Secret) Fields() []ent.Field { return []ent.Field{field.String("name")} }

func (Secret) Policy() ent.Policy { return early{} }

type early struct{ mixin.Schema }

func (early) EvalMutation(_ context.Context, m ent.Mutation) error { return needID(m, "policy") }

func (early) EvalQuery(context.Context, ent.Query) error { return nil }

func (early) Hooks() []ent.Hook {
	return []ent.Hook{func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			if err := needID(m, "mixin"); err != nil {
				return nil, err
			}
			return next.Mutate(ctx, m)
		})
	}}
}

func needID(m ent.Mutation, name string) error {
	if _, ok := m.(interface{ ID() (pk.ID, bool) }).ID(); !ok {
		if v, _ := m.Field("name"); v == name {
			return errors.New("no id for the " + name)
		}
	}
	return nil
}
