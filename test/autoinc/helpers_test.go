package autoinc_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

func exec(t *testing.T, conn *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := conn.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

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

var quotes = map[string]string{"postgres": `"`, "sqlite": `"`, "mysql": "`"}

func inspect(t *testing.T, conn *sql.DB, options catalog.Options) catalog.Report {
	t.Helper()
	report, err := catalog.Inspect(t.Context(), conn, options)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// key returns the key of the named table, in whichever schema the table is.
func key(t *testing.T, report catalog.Report, table string) catalog.Key {
	t.Helper()
	i := slices.IndexFunc(report.Keys, func(k catalog.Key) bool { return k.Column.Table.Name == table })
	if i < 0 {
		t.Fatalf("no key of %q in %+v", table, report)
	}
	return report.Keys[i]
}

// kinds returns the findings of a key as severity:kind, in order and without
// repetitions.
func kinds(findings []catalog.Finding) string {
	var all []string
	for _, f := range findings {
		all = append(all, fmt.Sprintf("%s:%s", f.Severity, f.Kind))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// differences returns the error as what Compare returns, and otherwise ends the test.
func differences(t *testing.T, err error) *catalog.MismatchError {
	t.Helper()
	e, ok := errors.AsType[*catalog.MismatchError](err)
	if !ok {
		t.Fatalf("got %v, want a *MismatchError", err)
	}
	return e
}
