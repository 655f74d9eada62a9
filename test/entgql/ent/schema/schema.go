// Package schema declares the entities of a Relay server, all of which have ids of type
// pk.ID.
package schema

import (
	"entgo.io/contrib/entgql"
	"entgo.io/contrib/entproto"
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/snowkey-go/snowkey/ent/entid"
)

// id is an id that becomes an int64 in protobuf.
var id = mixin.AnnotateFields(entid.Mixin{}, entproto.Field(1, entproto.Type(descriptorpb.FieldDescriptorProto_TYPE_INT64)))

type User struct{ ent.Schema }

func (User) Mixin() []ent.Mixin { return []ent.Mixin{id} }

func (User) Fields() []ent.Field {
	return []ent.Field{field.String("name").Annotations(entproto.Field(2))}
}

func (User) Edges() []ent.Edge {
	return []ent.Edge{edge.To("posts", Post.Type).Annotations(entgql.RelayConnection(), entproto.Field(3))}
}

func (User) Annotations() []schema.Annotation {
	return []schema.Annotation{
		entgql.RelayConnection(), entgql.QueryField(), entgql.Mutations(entgql.MutationCreate()),
		// We have to leave out List, because entproto only supports it for other ids,
		// and can only read ids below 2^31 back.
		entproto.Message(), entproto.Service(entproto.Methods(entproto.MethodCreate | entproto.MethodGet | entproto.MethodUpdate | entproto.MethodDelete | entproto.MethodBatchCreate)),
	}
}

type Post struct{ ent.Schema }

func (Post) Mixin() []ent.Mixin { return []ent.Mixin{id} }

func (Post) Fields() []ent.Field {
	return []ent.Field{field.String("title").Annotations(entproto.Field(2))}
}

func (Post) Edges() []ent.Edge {
	return []ent.Edge{edge.From("author", User.Type).Ref("posts").Unique().Annotations(entproto.Field(3))}
}

func (Post) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.QueryField(), entproto.Message()}
}
