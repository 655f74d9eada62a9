//go:build clients

package graph

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/entql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	_ "github.com/glebarez/go-sqlite"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entgql/ent"
	_ "github.com/snowkey-go/snowkey/test/entgql/ent/runtime"
	"github.com/snowkey-go/snowkey/test/entgql/ent/user"
)

// low is the first key. As float64, it can't be distinguished from the next one.
const low = idtest.First

func newClient(t *testing.T) *ent.Client {
	t.Helper()
	db := errtest.Must(sql.Open("sqlite", filepath.Join(t.TempDir(), "relay.db")+"?_txlock=immediate&_pragma=foreign_keys(1)&_pragma=busy_timeout(2000)"))(t)
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db)))
	t.Cleanup(func() { client.Close() })
	errtest.NoError(t, client.Schema.Create(t.Context()))
	client.Use(entid.Hook(new(idtest.Source)))
	return client
}

// In a Relay server built with entgql and gqlgen, keys of type pk.ID must never be
// rounded, whether they are used as global ids, in filters or in cursors.
func TestRelay(t *testing.T) {
	client := newClient(t)
	server := handler.New(NewExecutableSchema(Config{Resolvers: &Resolver{client}}))
	server.AddTransport(transport.POST{})
	query := func(query, variables string) string {
		body := errtest.Must(json.Marshal(map[string]any{"query": query, "variables": json.RawMessage(variables)}))(t)
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w.Body.String()
	}
	id := func(n int64) string { return fmt.Sprintf("%q", fmt.Sprint(low+n)) }

	for n, name := range []string{"Ada", "Bob"} {
		want := `{"data":{"createUser":{"id":` + id(int64(n)) + `}}}`
		if got := query(`mutation($name: String!) { createUser(input: {name: $name}) { id } }`, `{"name":"`+name+`"}`); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	client.Post.Create().SetTitle("by Ada").SetAuthorID(low).ExecX(t.Context())
	client.Post.Create().SetTitle("by Bob").SetAuthorID(low + 1).ExecX(t.Context())

	firstPage := query(`{ users(first: 1) { edges { cursor } pageInfo { endCursor } } }`, `{}`)
	_, cursor, _ := strings.Cut(firstPage, `"endCursor":"`)
	cursor, _, _ = strings.Cut(cursor, `"`)
	for _, c := range []struct{ query, variables, want string }{
		{`query($id: ID!) { node(id: $id) { id ... on User { name } ... on Post { title } } }`, `{"id":` + id(0) + `}`, `{"node":{"id":` + id(0) + `,"name":"Ada"}}`},
		{`query($id: ID!) { node(id: $id) { id ... on User { name } ... on Post { title } } }`, `{"id":` + id(3) + `}`, `{"node":{"id":` + id(3) + `,"title":"by Bob"}}`},
		{`{ node(id: ` + id(1) + `) { ... on User { name posts { edges { node { id title author { name } } } } } } }`, `{}`, `{"node":{"name":"Bob","posts":{"edges":[{"node":{"id":` + id(3) + `,"title":"by Bob","author":{"name":"Bob"}}}]}}}`},
		{`{ nodes(ids: [` + id(2) + `,` + id(0) + `,` + id(1) + `]) { id ... on User { name } ... on Post { title } } }`, `{}`, `{"nodes":[{"id":` + id(2) + `,"title":"by Ada"},{"id":` + id(0) + `,"name":"Ada"},{"id":` + id(1) + `,"name":"Bob"}]}`},
		{`{ users(where: {id: ` + id(1) + `}) { edges { node { name } } } }`, `{}`, `{"users":{"edges":[{"node":{"name":"Bob"}}]}}`},
		{`{ users(where: {idGT: ` + id(0) + `}) { edges { node { name } } } }`, `{}`, `{"users":{"edges":[{"node":{"name":"Bob"}}]}}`},
		{`{ posts(where: {hasAuthorWith: [{idIn: [` + id(1) + `]}]}) { edges { node { title } } } }`, `{}`, `{"posts":{"edges":[{"node":{"title":"by Bob"}}]}}`},
		{`{ users(after: "` + cursor + `") { edges { node { name } } } }`, `{}`, `{"users":{"edges":[{"node":{"name":"Bob"}}]}}`},
		{`{ users(last: 1, before: "` + cursor + `") { edges { node { name } } } }`, `{}`, `{"users":{"edges":[]}}`},
	} {
		if got := query(c.query, c.variables); got != `{"data":`+c.want+`}` {
			t.Errorf("%s %s\n got %s\nwant %s", c.query, c.variables, got, c.want)
		}
	}
	for _, bad := range []string{`"12x"`, `""`, `"007"`, `"9223372036854775808"`, `1.5`, id(4)} {
		if got := query(`query($id: ID!) { node(id: $id) { id } }`, `{"id":`+bad+`}`); !strings.Contains(got, `"errors"`) {
			t.Errorf("node %s: %s", bad, got)
		}
	}
}

// Filters of entql accept keys with OtherEQ, including lists and edges.
func TestEntQL(t *testing.T) {
	client, ctx := newClient(t), t.Context()
	for _, name := range []string{"Ada", "Bob", "Eve"} {
		client.User.Create().SetName(name).ExecX(ctx)
	}
	client.Post.Create().SetTitle("by Bob").SetAuthorID(low + 1).ExecX(ctx)
	for want, filter := range map[string]func(*ent.UserFilter){
		"[Bob]":     func(f *ent.UserFilter) { f.WhereID(entql.OtherEQ(pk.ID(low + 1))) },
		"[Ada Eve]": func(f *ent.UserFilter) { f.WhereID(entql.OtherNEQ(pk.ID(low + 1))) },
		"[Ada Bob]": func(f *ent.UserFilter) {
			f.WhereID(entql.OtherOr(entql.OtherEQ(pk.ID(low)), entql.OtherEQ(pk.ID(low+1))))
		},
		"[Bob Eve]": func(f *ent.UserFilter) { f.Where(entql.FieldGT(user.FieldID, pk.ID(low))) },
		"[Eve]":     func(f *ent.UserFilter) { f.Where(entql.FieldIn(user.FieldID, pk.ID(low+2), pk.ID(low+9))) },
	} {
		q := client.User.Query().Order(user.ByID())
		filter(q.Filter())
		if got := fmt.Sprint(q.Select(user.FieldName).StringsX(ctx)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	q := client.Post.Query()
	q.Filter().WhereHasAuthorWith(user.ID(low + 1))
	if n := q.CountX(ctx); n != 1 {
		t.Errorf("%d posts by Bob, want 1", n)
	}
}
