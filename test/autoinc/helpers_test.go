package autoinc_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	_ "github.com/glebarez/go-sqlite" // registers the driver "sqlite"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

func require(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	// If the texts are long, only print the lines that differ.
	without := func(text, other string) (lines []string) {
		for line := range strings.Lines(text) {
			if !slices.Contains(slices.Collect(strings.Lines(other)), line) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	t.Errorf("%s: got %q, want %q", what, without(got, want), without(want, got))
}

func TestMain(m *testing.M) { reuse.Main(m) }

// open returns an empty database. Half of the time of a plan on Postgres is the planning of
// the catalog's queries, so we have their joins done in the order in which they are written.
func open(t *testing.T, dialect string) dbtest.DB {
	t.Helper()
	db := reuse.Open(t, dialect)
	if dialect == "postgres" {
		db = db.With("join_collapse_limit=1")
	}
	return db
}

// one opens a database that uses a single connection.
func one(t *testing.T, dialect string) (dbtest.DB, *sql.DB) {
	t.Helper()
	db := open(t, dialect)
	conn := db.Connect(t)
	conn.SetMaxOpenConns(1)
	return db, conn
}

// each runs a test on every database of the run, at the same time as other tests.
func each(t *testing.T, test func(t *testing.T, db dbtest.DB)) {
	for _, dialect := range dbtest.Databases(t) {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, dialect))
		})
	}
}

// execAll executes statements that are separated by ";" and a space.
func execAll(t *testing.T, conn *sql.DB, statements string) {
	t.Helper()
	dbtest.Exec(t, conn, strings.Split(statements, "; ")...)
}

// number returns the number that a query returns.
func number(t *testing.T, conn *sql.DB, query string) (n int) {
	t.Helper()
	if err := conn.QueryRow(query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// requireNumber compares the number that a query returns.
func requireNumber(t *testing.T, conn *sql.DB, want int, query string) {
	t.Helper()
	if got := number(t, conn, query); got != want {
		t.Errorf("%s: got %d, want %d", query, got, want)
	}
}
