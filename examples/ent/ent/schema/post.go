package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// Edges returns the edge from a user to their posts.
func (User) Edges() []ent.Edge { return []ent.Edge{edge.To("posts", Post.Type)} }

// Post belongs to a user, and one of its fields is the user's key.
type Post struct{ ent.Schema }

func (Post) Mixin() []ent.Mixin { return []ent.Mixin{entid.Mixin{}} }

func (Post) Fields() []ent.Field {
	return []ent.Field{
		field.String("title"),
		entid.Field[pk.ID]{Name: "author_id"},
	}
}

func (Post) Edges() []ent.Edge {
	return []ent.Edge{edge.From("author", User.Type).Ref("posts").Field("author_id").Unique().Required()}
}
