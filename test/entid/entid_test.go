//go:build clients

package entid_test

import (
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"
	"slices"
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
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/migrate"
	_ "github.com/snowkey-go/snowkey/test/entid/internal/ent/runtime"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// low and high are keys that can't be distinguished as float64.
const (
	low  = 1<<53 + 1
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

// eachInTurn is each for tests that set the default pool.
func eachInTurn(t *testing.T, test func(t *testing.T, c client)) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) { test(t, open(t, db, tables)) })
}

func open(t *testing.T, db dbtest.DB, tables []*schema.Table) client {
	t.Helper()
	drv := sql.OpenDB(dialects[db.Dialect], db.Connect(t))
	c := client{ent.NewClient(ent.Driver(drv)), drv.DB(), db}
	dbtest.NoError(t, migrate.Create(t.Context(), c.Schema, tables))
	return c
}

// query returns the first column of each row. We read it as text, which is exact for
// every type.
func (c client) query(t *testing.T, query string) []string {
	t.Helper()
	rows, err := c.sql.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var s string
		dbtest.NoError(t, rows.Scan(&s))
		got = append(got, s)
	}
	dbtest.NoError(t, rows.Err())
	return got
}

// wantRows fails the test unless the query returns want.
func (c client) wantRows(t *testing.T, query string, want ...string) {
	t.Helper()
	if got := c.query(t, query); !slices.Equal(got, want) {
		t.Errorf("%s\n got %q\nwant %q", query, got, want)
	}
}

// frozen is a clock that stands still.
func frozen() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// A counter is a source of consecutive ids, starting above 2^53. It counts calls, and
// fails if a test asks it to.
type counter struct {
	last           int64
	nexts, appends int
	failAfter      int // fail once this many ids have been issued; 0 means never
}

var errSource = errors.New("source failed")

func newCounter() *counter { return &counter{last: low - 1} }

func (c *counter) Next(ctx context.Context) (int64, error) {
	c.nexts++
	ids, err := c.take(nil, 1)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

func (c *counter) Append(ctx context.Context, dst []int64, n int) ([]int64, error) {
	c.appends++
	return c.take(dst, n)
}

func (c *counter) take(dst []int64, n int) ([]int64, error) {
	if c.failAfter > 0 && c.last+int64(n) >= low+int64(c.failAfter) {
		return dst, errSource
	}
	for range n {
		c.last++
		dst = append(dst, c.last)
	}
	return dst, nil
}

// texts formats ids as the database does.
func texts[ID fmt.Stringer](ids ...ID) []string {
	s := make([]string, len(ids))
	for i, id := range ids {
		s[i] = id.String()
	}
	return s
}
