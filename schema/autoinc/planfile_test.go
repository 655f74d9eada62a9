package autoinc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/schema/catalog"
)

// The time of many steps over small tables is that of the steps, and of planning each phase again.
func TestTimeOfSteps(t *testing.T) {
	p := &Plan{Dialect: catalog.Postgres, Phases: []Phase{{Name: Drop, Steps: make([]Step, 1310)}, {Name: Guard, Steps: make([]Step, 1)}}}
	for want, is := range map[string]speed{
		"copied in 1311 steps, which takes an unknown time;":                        {},
		"copied in 1311 steps, which takes about 6m35s;":                            {Step: 280 * time.Millisecond, Planning: 14 * time.Second},
		"times are for 280ms a step, and 14s to plan each phase again, as measured": {Step: 280 * time.Millisecond, Planning: 14 * time.Second},
	} {
		p.speed = is
		if body, _ := p.body(); !strings.Contains(string(body), want) { // its steps have no SQL
			t.Errorf("%q is not in\n%.1000s", want, body)
		}
	}
}

// FuzzReadPlan reads files whose sum is right. A file either is the one that WriteText makes
// of the plan, or is refused.
func FuzzReadPlan(f *testing.F) {
	orders := catalog.Name{Schema: "public", Name: "orders"}
	for _, dialect := range []catalog.Dialect{catalog.Postgres, catalog.MySQL, catalog.SQLite} {
		p := &Plan{Dialect: dialect, Version: "15.18", Database: "a \"shop\"\n", Floor: DefaultFloor}
		p.keys = []plannedKey{{Column: catalog.Column{Table: orders, Name: "id", Type: "integer", Bits: 32}}}
		p.children = []catalog.ForeignKey{{Child: catalog.Column{Table: orders, Name: "parent"}, Undeclared: true}}
		p.speed = speed{1, 2, 3}
		p.notChildren = []catalog.Column{{Table: orders, Name: "other"}}
		p.Phases = []Phase{{Name: Widen, Notes: []string{"a note"}, Steps: []Step{{
			ID: "widen/1", Text: "widen id", SQL: "ALTER TABLE orders\n-- a comment\nALTER id TYPE bigint", Run: Exec, Unit: 1,
			Locks: "all", Rewrites: "all", Copies: "orders", Undo: []string{"SELECT 1\n, 2", "SELECT 3"}, Remedy: "none", Before: []string{"SELECT 4"},
			After: []string{"SELECT 5"}, Done: "SELECT 6", Lasting: true, Retry: "SELECT 7", Size: "SELECT 8",
		}}}, {Name: Readers}}
		body, err := p.body()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	f.Add("-- key: {}\n-- dialect: mysql\n")
	f.Add("-- dialect: none\n-- key: {}\n-- step: \n-- undo+: \n;\n-- end: \n")
	f.Fuzz(func(t *testing.T, body string) {
		text := fmt.Sprintf("%s\n-- sum: %s\n%s", planTitle, sum([]byte(body)), body)
		p, err := ReadPlan(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, ErrPlan) {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		var again strings.Builder
		if err := p.WriteText(&again); err != nil || again.String() != text {
			t.Errorf("%v:\n%s\nwas written as\n%s", err, text, &again)
		}
	})
}
