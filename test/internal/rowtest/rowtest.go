// Package rowtest has what the tests of several integrations do with the rows of a table.
package rowtest

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// T is the part of testing.T that this package needs.
type T interface {
	dbtest.TB
	idtest.T
}

// Line formats values as a row of [dbtest.Rows].
func Line(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }

// Want checks the rows that a query returns, in the form of [dbtest.Rows].
func Want(t T, conn *sql.DB, query string, want ...string) {
	t.Helper()
	if got := dbtest.Rows(t, conn, query); !slices.Equal(got, want) {
		t.Errorf("%s\n got %q\nwant %q", query, got, want)
	}
}

// Low and High are keys that are equal as float64, so we notice if anything rounds them.
const (
	Low  pk.ID = 1<<53 + 1
	High pk.ID = 1<<53 + 2
)

// Given lists the keys that two rows can have before they are created.
var Given = [][2]pk.ID{{}, {Low, High}, {Low, 0}, {0, High}}

// CheckWay creates the rows "a" and "b" of the table users. The function is called with
// their keys, of which zeros are to be filled from source, and returns those in memory
// afterwards. Memory must then equal the table. If once is set, a single INSERT creates both
// rows, and must draw their keys in one step.
func CheckWay(t T, conn *sql.DB, source *idtest.Source, given [2]pk.ID, once bool, create func(a, b pk.ID) (memory [2]pk.ID, err error)) {
	t.Helper()
	dbtest.Exec(t, conn, "DELETE FROM users")
	before, last := source.Calls(), pk.ID(source.Last())
	memory := dbtest.Must(create(given[0], given[1]))(t)
	for i := range memory {
		if given[i] != 0 && memory[i] != given[i] {
			t.Errorf("the given key %d has become %d", given[i], memory[i])
		}
		if given[i] == 0 && memory[i] <= last {
			t.Errorf("the key %d is not from the source", memory[i])
		}
	}
	calls := source.Calls() - before
	switch none := given == [2]pk.ID{}; {
	case none && memory[0] >= memory[1]:
		t.Errorf("the keys %d do not ascend in the order of the rows", memory)
	case none && once && calls != 1:
		t.Errorf("one INSERT has drawn keys %d times", calls)
	case given[0] != 0 && given[1] != 0 && calls != 0:
		t.Errorf("keys were drawn for rows that have theirs")
	}
	Want(t, conn, "SELECT name, id FROM users ORDER BY name", Line("a", memory[0]), Line("b", memory[1]))
}

// A Check is a case for the function Check of an integration, whose models have type M.
type Check[M any] struct {
	Name   string
	Tables map[string][]string // the statements that create them, by dialect; "" is for all others
	Models []M
	Want   map[string]string // the findings, by dialect, as by [idtest.Findings]
}

// Run creates the tables, and compares what check finds.
func (c Check[M]) Run(t T, db dbtest.DB, check func() error) {
	t.Helper()
	dbtest.Exec(t, db.Connect(t), of(db, c.Tables)...)
	err := check()
	if got, want := idtest.Findings(t, err), of(db, c.Want); got != want {
		t.Errorf("found\n%s\nwant\n%s\n%v", got, want, err)
	}
}

// of returns the value for the dialect of db.
func of[V any](db dbtest.DB, values map[string]V) V {
	if v, ok := values[db.Dialect]; ok {
		return v
	}
	return values[""]
}
