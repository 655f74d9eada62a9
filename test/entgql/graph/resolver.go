//go:build clients

// Package graph is a Relay server over the client ent, as gqlgen makes it.
package graph

import (
	"context"

	"entgo.io/contrib/entgql"

	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entgql/ent"
	"github.com/snowkey-go/snowkey/test/entgql/ent/post"
	"github.com/snowkey-go/snowkey/test/entgql/ent/user"
)

// A Resolver implements what gqlgen generates.
type Resolver struct{ client *ent.Client }

func (r *Resolver) Query() QueryResolver       { return r }
func (r *Resolver) Mutation() MutationResolver { return r }

// nodeType finds the table of an id. It asks one table after the other, because the ids
// of all tables are different.
func (r *Resolver) nodeType(ctx context.Context, id pk.ID) (string, error) {
	if ok, err := r.client.User.Query().Where(user.ID(id)).Exist(ctx); ok || err != nil {
		return user.Table, err
	}
	return post.Table, nil // or no table, which is the same error
}

func (r *Resolver) Node(ctx context.Context, id pk.ID) (ent.Noder, error) {
	return r.client.Noder(ctx, id, ent.WithNodeType(r.nodeType))
}

func (r *Resolver) Nodes(ctx context.Context, ids []pk.ID) ([]ent.Noder, error) {
	return r.client.Noders(ctx, ids, ent.WithNodeType(r.nodeType))
}

func (r *Resolver) Users(ctx context.Context, after *entgql.Cursor[pk.ID], first *int, before *entgql.Cursor[pk.ID], last *int, where *ent.UserWhereInput) (*ent.UserConnection, error) {
	return r.client.User.Query().Paginate(ctx, after, first, before, last, ent.WithUserFilter(where.Filter))
}

func (r *Resolver) Posts(ctx context.Context, after *entgql.Cursor[pk.ID], first *int, before *entgql.Cursor[pk.ID], last *int, where *ent.PostWhereInput) (*ent.PostConnection, error) {
	return r.client.Post.Query().Paginate(ctx, after, first, before, last, ent.WithPostFilter(where.Filter))
}

func (r *Resolver) CreateUser(ctx context.Context, input ent.CreateUserInput) (*ent.User, error) {
	return r.client.User.Create().SetInput(input).Save(ctx)
}
