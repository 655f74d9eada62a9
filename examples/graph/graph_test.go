package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/snowkey-go/snowkey/idgen/idgentest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

var openers = map[string]opener{"postgres": openPostgres, "mysql": openMySQL}

// own is the SQL for the test's schema. We need it because MySQL would also list the
// tables of other tests.
var own = map[string]string{"postgres": "CURRENT_SCHEMA", "mysql": "DATABASE()"}

// each runs a subtest for every database that we can measure.
func each(t *testing.T, test func(t *testing.T, dialect string)) {
	for _, dialect := range dbtest.Databases(t) {
		if openers[dialect] != nil {
			t.Run(dialect, func(t *testing.T) { test(t, dialect) })
		}
	}
}

// TestWays checks that with every way, the database contains the same keys as the
// objects in memory. It also compares the orders, since each child must have the key of
// the right parent.
func TestWays(t *testing.T) {
	pool := idgentest.New(t).Pool
	each(t, func(t *testing.T, dialect string) {
		about := dbtest.Open(t, dialect)
		db := about.Connect(t)
		s := dbtest.Must(openers[dialect](t.Context(), about.DSN, options{delay: time.Microsecond}))(t)
		defer s.close(context.Background())
		for _, j := range s.jobs(pool, options{graphs: 3, late: 2, bulk: 401}) { // 1,203 lines don't fit into one statement
			for _, w := range j.ways {
				for _, statement := range append(w.tables.drop(), w.tables.create(true)...) {
					dbtest.NoError(t, s.exec(t.Context(), statement))
				}
				var want []string
				for range 2 {
					if _, err := w.write(t.Context(), j.orders); err != nil {
						t.Fatalf("%s, %s: %v", j.title, w.name, err)
					}
					want = append(want, w.rows()...)
				}
				got := slices.Concat(
					stored(t, db, "order %s %s", "SELECT id, customer FROM "+w.tables.orders()),
					stored(t, db, "line %s of %s %s %s", "SELECT id, order_id, product, quantity FROM "+w.tables.lines()),
					stored(t, db, "payment %s of %s %s", "SELECT id, order_id, cents FROM "+w.tables.payments()))
				slices.Sort(want)
				slices.Sort(got)
				if n := len(slices.Compact(slices.Clone(want))); n != 2*objectsEach*j.orders {
					t.Errorf("%s, %s: %d objects", j.title, w.name, n)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, %s: %d rows are stored, want %d; the first is\n%s, want\n%s", j.title, w.name, len(got), len(want), got[0], want[0])
				}
			}
		}
	})
}

// stored returns the rows of a query, with each row formatted using format.
func stored(t *testing.T, db *sql.DB, format, query string) (rows []string) {
	t.Helper()
	found := dbtest.Must(db.QueryContext(t.Context(), query))(t)
	defer found.Close()
	columns := dbtest.Must(found.Columns())(t)
	cells, to := make([]any, len(columns)), make([]any, len(columns))
	for i := range to {
		cells[i] = new(cell)
		to[i] = cells[i]
	}
	for found.Next() {
		dbtest.NoError(t, found.Scan(to...))
		rows = append(rows, fmt.Sprintf(format, cells...))
	}
	dbtest.NoError(t, found.Err())
	return rows
}

// A cell scans a value as text.
type cell string

func (c *cell) Scan(v any) error {
	bytes, ok := v.([]byte)
	if !ok {
		*c = cell(fmt.Sprint(v))
	} else if id, err := uuid.FromBytes(bytes); err == nil { // only UUIDs have 16 bytes
		*c = cell(id.String())
	} else {
		*c = cell(bytes)
	}
	return nil
}

func (c *cell) String() string { return string(*c) }

// TestRun checks that the program prints all jobs, with and without foreign keys, and
// drops its tables. It normally keeps the run short. With SNOWKEY_GRAPH=1 and -v, you
// get the output of go run ./examples/graph instead, on servers that flush to disk.
func TestRun(t *testing.T) {
	each(t, func(t *testing.T, dialect string) {
		o, open := options{rounds: 2, graphs: 2, late: 1, bulk: 5, delay: time.Microsecond}, dbtest.Open
		if os.Getenv("SNOWKEY_GRAPH") != "" {
			o, open = usual, func(t dbtest.TB, dialect string) dbtest.DB { return dbtest.Durable(t, dialect) }
		}
		about := open(t, dialect)
		var out bytes.Buffer
		dbtest.NoError(t, run(t.Context(), &out, openers[dialect], about.DSN, o))
		t.Logf("\n%s", &out)
		for _, want := range []string{perGraph, "of delay", bulk, "with foreign keys", "without foreign keys", "known keys: ", "auto-increment: ", "UUIDv7: "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the program does not print %q", want)
			}
		}
		left := stored(t, about.Connect(t), "%s", "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'snowkey_graph%' AND table_schema = "+own[dialect])
		if len(left) > 0 {
			t.Errorf("the program leaves tables behind: %v", left)
		}
	})
}
