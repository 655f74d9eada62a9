// Package schema has one entity for each way to declare a key.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/keys"
)

// User is the ordinary case, with one edge of every kind.
type User struct{ ent.Schema }

func (User) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (User) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").Unique(),
		field.Int("age").Default(0),
	}
}

func (User) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("posts", Post.Type),
		edge.To("card", Card.Type).Unique(),
		edge.To("follows", Tag.Type),
		edge.To("liked", Post.Type).Through("likes", Like.Type),
	}
}

// Post draws from its own generator, and its foreign key is a field.
type Post struct{ ent.Schema }

func (Post) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{Name: "posts"}} }

func (Post) Fields() []ent.Field {
	return []ent.Field{
		field.String("title"),
		entid.Field[pk.ID]{Name: "author_id", Optional: true, Nillable: true},
	}
}

func (Post) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("author", User.Type).Ref("posts").Field("author_id").Unique(),
		edge.From("likers", User.Type).Ref("liked").Through("likes", Like.Type),
		edge.To("tags", Tag.Type).Through("taggings", Tagging.Type),
	}
}

// Tag is at both ends of many-to-many edges, with and without an edge schema.
type Tag struct{ ent.Schema }

func (Tag) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Tag) Fields() []ent.Field { return []ent.Field{field.String("name")} }

func (Tag) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("followers", User.Type).Ref("follows"),
		edge.From("posts", Post.Type).Ref("tags").Through("taggings", Tagging.Type),
	}
}

// Tagging is an edge schema that has its own id.
type Tagging struct{ ent.Schema }

func (Tagging) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Tagging) Fields() []ent.Field {
	return []ent.Field{
		entid.Field[pk.ID]{Name: "post_id"},
		entid.Field[pk.ID]{Name: "tag_id"},
	}
}

func (Tagging) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("post", Post.Type).Field("post_id").Unique().Required(),
		edge.To("tag", Tag.Type).Field("tag_id").Unique().Required(),
	}
}

// Like is an edge schema with a composite id. It shouldn't have the mixin, which must
// do nothing here.
type Like struct{ ent.Schema }

func (Like) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Like) Annotations() []schema.Annotation {
	return []schema.Annotation{field.ID("user_id", "post_id")}
}

func (Like) Fields() []ent.Field {
	return []ent.Field{
		entid.Field[pk.ID]{Name: "user_id"},
		entid.Field[pk.ID]{Name: "post_id"},
	}
}

func (Like) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("user", User.Type).Field("user_id").Unique().Required(),
		edge.To("post", Post.Type).Field("post_id").Unique().Required(),
	}
}

// Card has a typed key.
type Card struct{ ent.Schema }

func (Card) Mixin() []ent.Mixin { return []ent.Mixin{entid.For[keys.CardID]{}} }

func (Card) Fields() []ent.Field { return []ent.Field{field.String("number")} }

func (Card) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("owner", User.Type).Ref("card").Unique(),
		edge.To("events", Event.Type),
	}
}

// Event declares a typed key without the mixin, and with an alias. Its keys are filled
// in by hooks of the client.
type Event struct{ ent.Schema }

func (Event) Fields() []ent.Field {
	return []ent.Field{
		entid.Field[keys.EventRef]{Name: "id", Alias: "EventRef"},
		field.String("kind"),
		entid.Field[keys.CardID]{Name: "card_id", Optional: true},
	}
}

func (Event) Edges() []ent.Edge {
	return []ent.Edge{edge.From("card", Card.Type).Ref("events").Field("card_id").Unique()}
}

// Note has a text key in sortable form.
type Note struct{ ent.Schema }

func (Note) Mixin() []ent.Mixin { return []ent.Mixin{entid.For[pk.SortText]{}} }

func (Note) Fields() []ent.Field { return []ent.Field{field.String("text")} }

func (Note) Edges() []ent.Edge {
	return []ent.Edge{edge.To("labels", Label.Type), edge.To("main", Label.Type).Unique()}
}

// Entry has a time, from which an import takes its key.
type Entry struct{ ent.Schema }

func (Entry) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Entry) Fields() []ent.Field {
	return []ent.Field{field.String("text"), field.Time("created_at")}
}

// Label has a text key in decimal form.
type Label struct{ ent.Schema }

func (Label) Mixin() []ent.Mixin { return []ent.Mixin{entid.For[pk.Text]{}} }

func (Label) Fields() []ent.Field { return []ent.Field{field.String("name")} }

func (Label) Edges() []ent.Edge {
	return []ent.Edge{edge.From("notes", Note.Type).Ref("labels")}
}
