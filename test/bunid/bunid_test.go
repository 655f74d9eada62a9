package bunid_test

import (
	"context"
	"database/sql"
	"testing"

	_ "github.com/glebarez/go-sqlite" // registers the driver "sqlite"
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
	"github.com/snowkey-go/snowkey/test/internal/rowtest"
)

// These keys are equal as float64, so we notice if anything rounds them.
const (
	idA = rowtest.Low
	idB = rowtest.High
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
	dialect := map[string]schema.Dialect{"sqlite": sqlitedialect.New(), "postgres": pgdialect.New(), "mysql": mysqldialect.New()}[about.Dialect]
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

// eachWith runs a test on every database, after it has opened bun with the guard.
func eachWith(t *testing.T, models []any, test func(t *testing.T, e *env)) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) { test(t, open(t, about, models...)) })
}

func (e *env) use(t testing.TB, models ...any) {
	t.Helper()
	e.DB = dbtest.Must(bunid.Use(e.DB, models...))(t)
}

// isMySQL reports whether the database is MySQL rather than MariaDB, which unlike MySQL
// has RETURNING.
func (e *env) isMySQL() bool { return e.about.Dialect == "mysql" && !e.about.MariaDB }

// wantTable checks the result of a query that doesn't go through bun.
func (e *env) wantTable(t testing.TB, query string, want ...string) {
	t.Helper()
	rowtest.Want(t, e.conn, query, want...)
}

// line formats values as table does.
func line(values ...any) string { return rowtest.Line(values...) }

func (e *env) exec(t testing.TB, statement string) {
	t.Helper()
	dbtest.Exec(t, e.conn, statement)
}

// insert inserts rows that a test needs.
func (e *env) insert(t testing.TB, model any) {
	t.Helper()
	dbtest.Must(e.NewInsert().Model(model).Exec(e.context(t)))(t)
}

type query = *bun.InsertQuery

type user struct {
	bun.BaseModel `bun:"table:users"`
	sourced

	ID   pk.ID  `bun:",pk"`
	Name string `bun:",unique"`
	Age  int
}
