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
		s, err := openers[dialect](t.Context(), about.DSN, options{delay: time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		defer s.close(context.Background())
		for _, j := range s.jobs(pool, options{graphs: 3, late: 2, bulk: 401}) { // 1,203 lines don't fit into one statement
			for _, w := range j.ways {
				for _, statement := range append(w.tables.drop(), w.tables.create(true)...) {
					if err := s.exec(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
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
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	cells, to := make([]any, len(columns)), make([]any, len(columns))
	for i := range to {
		cells[i] = new(cell)
		to[i] = cells[i]
	}
	for found.Next() {
		if err := found.Scan(to...); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, fmt.Sprintf(format, cells...))
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
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
		if err := run(t.Context(), &out, openers[dialect], about.DSN, o); err != nil {
			t.Fatal(err)
		}
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

func TestTable(t *testing.T) {
	ms := func(numbers ...time.Duration) (took []time.Duration) {
		for _, n := range numbers {
			took = append(took, n*time.Millisecond)
		}
		return took
	}
	r := result{
		job:         job{title: "in bulk", orders: 10, ways: []way{{name: "ours"}, {name: "near", bar: 1.5}, {name: "far", bar: 1.6}, {name: "other"}}},
		foreignKeys: true,
		took:        [][]time.Duration{ms(10, 20, 10, 20, 10), ms(15, 30, 20, 40, 14), ms(15, 30, 20, 40, 14), ms(5, 10, 5, 10, 5)},
	}
	var out bytes.Buffer
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	const want = `
in bulk, 10 in a transaction, with foreign keys
       orders/s  ours is faster by  quartiles  bar
ours   1000
near   500       1.50               1.50–2.00  ≥ 1.5  met
far    500       1.50               1.50–2.00  ≥ 1.6  MISSED
other  2000      0.50               0.50–0.50
`
	if out.String() != want {
		t.Errorf("printed%s\nwant%s", &out, want)
	}
}
