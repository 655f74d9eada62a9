//go:build clients

package entid_test

import (
	stdsql "database/sql"
	"fmt"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	_ "github.com/glebarez/go-sqlite"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/migrate"
	_ "github.com/snowkey-go/snowkey/test/entid/internal/ent/runtime"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
	"github.com/snowkey-go/snowkey/test/internal/rowtest"
)

// low and high are the first ids of a source. They can't be distinguished as float64.
const (
	low  = idtest.First
	high = low + 1
)

func TestMain(m *testing.M) {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(7)})
	if err != nil {
		panic(err)
	}
	idgen.SetDefault(pool)
	reuse.Main(m)
}

// A client is an ent client, together with the database behind it.
type client struct {
	*ent.Client
	sql *stdsql.DB
	db  dbtest.DB
}

// dialects maps the names used by dbtest to those used by ent.
var dialects = map[string]string{"sqlite": dialect.SQLite, "postgres": dialect.Postgres, "mysql": dialect.MySQL}

// traps are the tables of traps.go in package schema, and tables are all others.
var traps, tables = func() (traps, tables []*schema.Table) {
	for _, table := range migrate.Tables {
		switch table.Name {
		case "items", "boxes", "item_boxes", "shelves", "plains", "twins", "secrets":
			traps = append(traps, table)
		default:
			tables = append(tables, table)
		}
	}
	return traps, tables
}()

// each runs test on every database, after creating the tables, and at the same time as
// other tests.
func each(t *testing.T, test func(t *testing.T, c client)) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) { test(t, open(t, db, tables)) })
}

func open(t *testing.T, db dbtest.DB, tables []*schema.Table) client {
	t.Helper()
	drv := sql.OpenDB(dialects[db.Dialect], db.Connect(t))
	c := client{ent.NewClient(ent.Driver(drv)), drv.DB(), db}
	dbtest.NoError(t, migrate.Create(t.Context(), c.Schema, tables))
	return c
}

// wantRows checks the rows that a query returns, in the form of dbtest.Rows.
func (c client) wantRows(t *testing.T, query string, want ...string) {
	t.Helper()
	rowtest.Want(t, c.sql, query, want...)
}

// frozen is a clock that stands still.
func frozen() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// line formats the values of a row as wantRows does.
func line(values ...any) string { return rowtest.Line(values...) }

// texts formats ids as the database does.
func texts[ID fmt.Stringer](ids ...ID) []string {
	s := make([]string, len(ids))
	for i, id := range ids {
		s[i] = id.String()
	}
	return s
}
