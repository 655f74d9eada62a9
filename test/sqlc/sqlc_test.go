package sqlc

import (
	"context"
	"database/sql"
	_ "embed"
	"reflect"
	"slices"
	"strings"
	"testing"

	_ "github.com/glebarez/go-sqlite"
	pgxdriver "github.com/jackc/pgx/v5"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	. "github.com/snowkey-go/snowkey/internal/waytest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/sqlc/keys"
	"github.com/snowkey-go/snowkey/test/sqlc/mysql"
	"github.com/snowkey-go/snowkey/test/sqlc/pgx"
	"github.com/snowkey-go/snowkey/test/sqlc/postgres"
	"github.com/snowkey-go/snowkey/test/sqlc/sqlite"
)

//go:embed schema.sql
var schema string

// create connects to a database, and creates the tables.
func create(t *testing.T, about dbtest.DB) *sql.DB {
	t.Helper()
	db := about.Connect(t)
	dbtest.Exec(t, db, strings.Split(strings.TrimRight(schema, ";\n"), ";")...)
	return db
}

// A client is a *Queries of one of the generated packages. These all have different
// types, but their methods and fields have the same names.
type client struct {
	queries any
	filler  *sqlid.Filler
}

// call calls a method and returns its first result, or nil if it only returns an error.
func (c client) call(t *testing.T, method string, args ...any) (any, error) {
	t.Helper()
	in := []reflect.Value{reflect.ValueOf(t.Context())}
	for _, arg := range args {
		in = append(in, reflect.ValueOf(arg))
	}
	out := reflect.ValueOf(c.queries).MethodByName(method).Call(in)
	err, _ := out[len(out)-1].Interface().(error)
	if len(out) == 1 {
		return nil, err
	}
	return out[0].Interface(), err
}

// get calls a method that must not fail.
func (c client) get(t *testing.T, method string, args ...any) any {
	t.Helper()
	result, err := c.call(t, method, args...)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return result
}

// params returns a pointer to the parameters of a method.
func (c client) params(method string, fields map[string]any) reflect.Value {
	params := reflect.New(reflect.ValueOf(c.queries).MethodByName(method).Type().In(1))
	for name, value := range fields {
		f := params.Elem().FieldByName(name)
		f.Set(reflect.ValueOf(value).Convert(f.Type()))
	}
	return params
}

// insert fills in the parameters of a method, calls it, and returns the key.
func (c client) insert(t *testing.T, method string, fields map[string]any) pk.ID {
	t.Helper()
	params := c.params(method, fields)
	dbtest.NoError(t, c.filler.Fill(t.Context(), params.Interface()))
	c.get(t, method, params.Elem().Interface())
	return pk.ID(params.Elem().FieldByName("ID").Int())
}

// column returns the values of a field in all rows.
func column[V any](rows any, field string) []V {
	var values []V
	for i := range reflect.ValueOf(rows).Len() {
		values = append(values, reflect.ValueOf(rows).Index(i).FieldByName(field).Interface().(V))
	}
	return values
}

// test runs all queries, using keys that differ by one.
func (c client) test(t *testing.T) {
	same := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	ada := c.insert(t, "CreateAuthor", map[string]any{"Name": "Ada"})
	bob := c.insert(t, "CreateAuthor", map[string]any{"Name": "Bob"})
	same("the keys", []pk.ID{ada, bob}, []pk.ID{idtest.First, idtest.First + 1})
	first := c.insert(t, "CreateBook", map[string]any{"AuthorID": ada})
	second := c.insert(t, "CreateBook", map[string]any{"AuthorID": ada, "EditorID": &bob})
	third := c.insert(t, "CreateBook", map[string]any{"AuthorID": bob, "EditorID": &ada})

	same("GetAuthor", reflect.ValueOf(c.get(t, "GetAuthor", bob)).FieldByName("Name").Interface(), "Bob")
	after := c.params("AuthorsAfter", map[string]any{"ID": ada, "Limit": 9}).Elem().Interface()
	same("AuthorsAfter", column[pk.ID](c.get(t, "AuthorsAfter", after), "ID"), []pk.ID{bob})
	books := c.get(t, "BooksWithAuthor", ada)
	same("ID of BooksWithAuthor", column[pk.ID](books, "ID"), []pk.ID{first, second})
	same("AuthorID of BooksWithAuthor", column[pk.ID](books, "AuthorID"), []pk.ID{ada, ada})
	same("EditorID of BooksWithAuthor", column[*pk.ID](books, "EditorID"), []*pk.ID{nil, &bob})
	same("DeleteBook", c.get(t, "DeleteBook", first), int64(1))
	// These aren't keys, or no longer.
	same("CountBooks", c.get(t, "CountBooks"), int64(2))
	same("LastBook", c.get(t, "LastBook"), third.Int64())

	red := c.insert(t, "CreateTeam", map[string]any{"Name": "Red"})
	blue := c.insert(t, "CreateTeam", map[string]any{"Name": "Blue"})
	cy := c.insert(t, "CreateMember", map[string]any{"Name": "Cy", "TeamID": red})
	di := c.insert(t, "CreateMember", map[string]any{"Name": "Di", "TeamID": blue})
	members := c.get(t, "MembersWithTeam", keys.TeamID(blue))
	same("ID of MembersWithTeam", column[keys.MemberID](members, "ID"), []keys.MemberID{keys.MemberID(di)})
	same("TeamID of MembersWithTeam", column[keys.TeamID](members, "TeamID"), []keys.TeamID{keys.TeamID(blue)})
	member := reflect.ValueOf(c.get(t, "GetMember", keys.MemberID(cy)))
	same("ID of GetMember", member.FieldByName("ID").Interface(), keys.MemberID(cy))
	same("TeamID of GetMember", member.FieldByName("TeamID").Interface(), keys.TeamID(red))
}

// With database/sql, the clients only differ in the SQL for their databases.
func TestDatabaseSQL(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		db := create(t, about)
		c := client{filler: sqlid.New(new(idtest.Source))}
		switch about.Dialect {
		case "sqlite":
			c.queries = sqlite.New(db)
		case "mysql":
			c.queries = mysql.New(db)
		default:
			c.queries = postgres.New(db)
		}
		c.test(t)
		if about.Dialect != "postgres" {
			got := column[pk.ID](c.get(t, "ListAuthors", []pk.ID{idtest.First + 1}), "ID")
			if !slices.Equal(got, []pk.ID{idtest.First + 1}) {
				t.Errorf("ListAuthors: %v", got)
			}
			green := c.insert(t, "CreateTeam", map[string]any{"Name": "Green"})
			teams := []keys.TeamID{keys.TeamID(green - 1), keys.TeamID(green)}
			if got := column[keys.TeamID](c.get(t, "ListTeams", teams), "ID"); !slices.Equal(got, teams[1:]) {
				t.Errorf("ListTeams: %v, want %v", got, teams[1:])
			}
		}
		Run(t, db, c.ways(t, func() (client, func() error, error) {
			tx, err := db.BeginTx(t.Context(), nil)
			return client{c.withTx(tx), c.filler}, func() error { return tx.Rollback() }, err
		}))
	})
}

func TestPgx(t *testing.T) {
	about := dbtest.Postgres(t)
	db := create(t, about)
	conn := dbtest.Must(pgxdriver.Connect(t.Context(), about.DSN))(t)
	defer conn.Close(context.Background())
	q, filler := pgx.New(conn), sqlid.New(new(idtest.Source))
	client{q, filler}.test(t)
	authors, err := q.ListAuthors(t.Context(), []int64{idtest.First + 1})
	if err != nil || len(authors) != 1 || authors[0].ID != idtest.First+1 {
		t.Errorf("ListAuthors: %v (%v)", authors, err)
	}

	green := pgx.CreateTeamParams{Name: "Green"}
	dbtest.NoError(t, filler.Fill(t.Context(), &green))
	dbtest.NoError(t, q.CreateTeam(t.Context(), green))
	teams, err := q.ListTeams(t.Context(), []int64{green.ID.Int64() - 1, green.ID.Int64()})
	if err != nil || len(teams) != 1 || teams[0].ID != green.ID {
		t.Errorf("ListTeams: %v (%v)", teams, err)
	}

	// COPY must refuse rows that have not been filled in.
	if _, err := q.CopyAuthors(t.Context(), []pgx.CopyAuthorsParams{{Name: "Cy"}}); err == nil {
		t.Error("rows that were not filled were copied")
	}
	Run(t, db, client{q, filler}.ways(t, func() (client, func() error, error) {
		tx, err := conn.Begin(t.Context())
		return client{q.WithTx(tx), filler}, func() error { return tx.Rollback(t.Context()) }, err
	}))
	Run(t, db, bulkWays(q, filler))
}
