package bunid_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// These keys are equal as float64, so we notice if anything rounds them.
const (
	idA pk.ID = 1<<53 + 1
	idB pk.ID = 1<<53 + 2
)

// sourceKey is the context key by which models find the source of a test.
type sourceKey struct{}

func (e *env) context(t testing.TB) context.Context {
	return context.WithValue(t.Context(), sourceKey{}, e.source)
}

// sourced is embedded in models that should draw from the source of the test.
type sourced struct{}

func (*sourced) BeforeInsert(ctx context.Context, q *bun.InsertQuery) error {
	s, _ := ctx.Value(sourceKey{}).(idgen.Source) // nil if there is none
	return bunid.Fill(ctx, q, s)
}

// An env is a database that is used through bun.
type env struct {
	*bun.DB
	conn   *sql.DB
	source *idtest.Source
	about  dbtest.DB
}

func TestMain(m *testing.M) { reuse.Main(m) }

// bare opens bun and creates the tables, but doesn't install the guard.
func bare(t testing.TB, about dbtest.DB, models ...any) *env {
	t.Helper()
	e := &env{conn: about.Connect(t), source: new(idtest.Source), about: about}
	var dialect schema.Dialect
	switch about.Dialect {
	case "sqlite":
		dialect = sqlitedialect.New()
	case "postgres":
		dialect = pgdialect.New()
	case "mysql":
		dialect = mysqldialect.New()
	}
	e.DB = bun.NewDB(e.conn, dialect)
	for _, m := range models {
		dbtest.Must(e.NewCreateTable().Model(m).Varchar(40).Exec(t.Context()))(t)
	}
	return e
}

// open opens bun with the guard, and creates the tables of the models.
func open(t testing.TB, about dbtest.DB, models ...any) *env {
	t.Helper()
	e := bare(t, about, models...)
	e.use(t, models...)
	return e
}

func (e *env) use(t testing.TB, models ...any) {
	t.Helper()
	db := dbtest.Must(bunid.Use(e.DB, models...))(t)
	e.DB = db
}

// isMySQL reports whether the database is MySQL rather than MariaDB, which unlike MySQL
// has RETURNING.
func (e *env) isMySQL() bool { return e.about.Dialect == "mysql" && !e.about.MariaDB }

// table reads rows without going through bun, and joins the columns of each with
// spaces.
func (e *env) table(t testing.TB, query string) []string {
	t.Helper()
	return dbtest.Rows(t, e.conn, query)
}

// wantTable checks the result of a query that doesn't go through bun.
func (e *env) wantTable(t testing.TB, query string, want ...string) {
	t.Helper()
	if got := e.table(t, query); !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got %q\nwant %q", query, got, want)
	}
}

// line formats values as table does.
func line(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }

func (e *env) wipe(t testing.TB, tables ...string) {
	t.Helper()
	for _, name := range tables {
		e.exec(t, "DELETE FROM "+name)
	}
}

func (e *env) exec(t testing.TB, statement string) {
	t.Helper()
	if _, err := e.conn.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// insert inserts rows that a test needs.
func (e *env) insert(t testing.TB, model any) {
	t.Helper()
	dbtest.Must(e.NewInsert().Model(model).Exec(e.context(t)))(t)
}

func wantRowError(t testing.TB, err error, row int, problem string) {
	t.Helper()
	e, ok := errors.AsType[*bunid.RowError](err)
	if !ok {
		t.Fatalf("got %v, want a *RowError", err)
	}
	if e.Row != row || !strings.Contains(e.Problem, problem) || e.Remedy == "" || e.Model == "" {
		t.Errorf("got row %d %q (remedy %q), want row %d %q", e.Row, e.Problem, e.Remedy, row, problem)
	}
}

type user struct {
	bun.BaseModel `bun:"table:users"`
	sourced

	ID   pk.ID  `bun:",pk"`
	Name string `bun:",unique"`
	Age  int
}
