// Package waytest tests the ways in which a recipe writes rows, and the table of these ways in the docs.
//
// The tables use the words of test/matrix/README.md. Its matrix has no recipes, because their module
// requires other versions of the drivers.
package waytest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/fill"
)

// A Kind is a group of ways. It decides which rows a way is given.
type Kind string

const (
	One      Kind = "one row"
	Slice    Kind = "slice in bulk"
	Upsert   Kind = "upsert with update" // the row "b" exists
	Ignore   Kind = "insert or ignore"   // the row "b" exists
	Map      Kind = "map"
	Raw      Kind = "raw SQL"
	Preset   Kind = "preset keys" // the row "b" has a key
	Rollback Kind = "rolled back, then again"
	Failure  Kind = "generator error"
)

// Outcomes. An error is "refused", with the type of the error if it is Snowkey's.
const (
	Agrees  = "✓"      // memory and table have the same keys
	Stored  = "stored" // the table is right, and the call does not return the keys
	Refused = "refused"
)

// A Row is a row of the table users, which has the columns id, name (unique) and n.
type Row struct {
	ID   int64
	Name string
	N    int64
}

// A Way is one way to write rows.
type Way struct {
	Kind Kind
	Call string // as the table shows it
	Want string // the outcome, on every database

	// Create writes the rows. It returns them as they are in memory afterwards, or nil if
	// the call does not return their keys.
	Create func(ctx context.Context, rows []Row) ([]Row, error)
}

// No float64 tells this key from the one below.
const preset int64 = 1<<53 + 2

// T is the part of testing.T that this package needs, so that it does not import testing.
type T interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Run tests each way. The ids that it draws must be consecutive.
func Run(t T, conn *sql.DB, ways []Way) {
	t.Helper()
	for _, w := range ways {
		if got, err := w.run(t, conn); got != w.Want {
			t.Errorf("%s, %s: %s, want %s: %v", w.Kind, w.Call, got, w.Want, err)
		}
	}
}

func (w Way) run(t T, conn *sql.DB) (outcome string, err error) {
	errtest.Must(conn.ExecContext(t.Context(), "DELETE FROM users"))(t)
	rows := []Row{{Name: "a", N: 2}, {Name: "b", N: 2}, {Name: "c", N: 2}}
	exists := w.Kind == Upsert || w.Kind == Ignore
	want := slices.Clone(rows)
	switch {
	case exists:
		errtest.Must(conn.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO users (id, name, n) VALUES (%d, 'b', 1)", preset)))(t)
		want[1].ID = preset
		if w.Kind == Ignore {
			want[1].N = 1
		}
	case w.Kind == Preset:
		rows[1].ID, want[1].ID = preset, preset
	}

	memory, failure := w.Create(t.Context(), rows)
	table := read(t, conn)
	if failure != nil {
		if len(table) > 0 && !exists || len(table) > 1 {
			return "failed with rows in the table", fmt.Errorf("%w: %v", failure, table)
		}
		return refusal(failure), failure
	}
	if len(table) != len(want) {
		return "wrong number of rows", fmt.Errorf("the table has %v", table)
	}
	last := int64(0)
	for i, row := range want {
		got := table[row.Name]
		switch {
		case row.ID != 0:
			if got != row {
				return "wrong row", fmt.Errorf("the table has %v, want %v", got, row)
			}
		case got.N != row.N, got.ID <= last, last > 0 && got.ID > last+int64(len(rows)):
			return "wrong row", fmt.Errorf("the table has %v, want %v with a key after %d", got, row, last)
		default:
			last = got.ID
		}
		if memory == nil {
			continue
		}
		if left := w.Kind == Ignore && row.ID != 0 && memory[i].ID == 0; !left && memory[i].ID != got.ID {
			return "wrong key in memory", fmt.Errorf("memory has %v, the table %v", memory[i], got)
		}
	}
	if memory == nil {
		return Stored, nil
	}
	return Agrees, nil
}

func refusal(err error) string {
	if e, ok := errors.AsType[*fill.RowError](err); ok {
		return Refused + ": `*" + e.Package + ".RowError`"
	}
	if e, ok := errors.AsType[*fill.FieldError](err); ok {
		return Refused + ": `*" + e.Package + ".FieldError`"
	}
	return Refused
}

func read(t T, conn *sql.DB) map[string]Row {
	rows := errtest.Must(conn.QueryContext(t.Context(), "SELECT id, name, n FROM users"))(t)
	defer rows.Close()
	table := make(map[string]Row)
	for rows.Next() {
		var r Row
		errtest.NoError(t, rows.Scan(&r.ID, &r.Name, &r.N))
		table[r.Name] = r
	}
	errtest.NoError(t, rows.Err())
	return table
}

// Users is a way that writes structs with the fields ID (or Id), Name and N.
func Users[U any](write func(ctx context.Context, users []U) error) func(ctx context.Context, rows []Row) ([]Row, error) {
	return func(ctx context.Context, rows []Row) ([]Row, error) {
		users := Of[U](rows)
		err := write(ctx, users)
		for i := range users {
			rows[i].ID = id(&users[i]).Int()
		}
		return rows, err
	}
}

// Of returns the structs of rows.
func Of[U any](rows []Row) []U {
	users := make([]U, len(rows))
	for i, r := range rows {
		id(&users[i]).SetInt(r.ID)
		u := reflect.ValueOf(&users[i]).Elem()
		u.FieldByName("Name").SetString(r.Name)
		u.FieldByName("N").SetInt(r.N)
	}
	return users
}

func id(user any) reflect.Value {
	return reflect.ValueOf(user).Elem().FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, "id") })
}

// CheckPage checks that a section of a page has the table of the ways. Package docs compares its code.
func CheckPage(t T, page, section string, ways []Way) {
	t.Helper()
	_, body, ok := strings.Cut(string(errtest.Must(os.ReadFile(page))(t)), "\n"+section+"\n")
	if !ok {
		t.Fatalf("%s has no section %q", page, section)
	}
	marks, _, _ := strings.Cut(section, " ")
	body, _, _ = strings.Cut(body, "\n"+marks+" ")
	if want := table(ways); !strings.Contains(body, want) {
		t.Errorf("%s, %s: the table should be\n%s", page, section, want)
	}
}

func table(ways []Way) string {
	var b strings.Builder
	b.WriteString("| way | call | outcome |\n|---|---|---|\n")
	for i, w := range ways {
		kind := string(w.Kind)
		if i > 0 && ways[i-1].Kind == w.Kind {
			kind = ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", kind, w.Call, w.Want)
	}
	return b.String()
}
