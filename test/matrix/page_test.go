package matrix

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const page = "../../docs/integrations.md"

// checkPage compares the tables of the page with the outcomes in testdata. With
// -update, it writes the page instead.
func checkPage(t *testing.T) {
	t.Helper()
	var all []*results
	for _, server := range servers {
		all = append(all, readResults(t, server))
	}
	tables := tablesOf(all)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- tables of TestMatrix -->\n", "<!-- end -->\n"
	before, rest, ok1 := strings.Cut(string(text), from)
	old, after, ok2 := strings.Cut(rest, to)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the tables, between %q and %q", page, from, to)
	}
	switch {
	case old == tables:
	case !*update:
		t.Errorf("%s is not what testdata says; run the test with -update", page)
	case !t.Failed():
		if err := os.WriteFile(page, []byte(before+from+tables+to+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tablesOf returns one table for each integration.
func tablesOf(all []*results) string {
	var b strings.Builder
	for _, in := range integrations {
		columns := slices.DeleteFunc(slices.Clone(all), func(r *results) bool { return !in.has(r.server) })
		fmt.Fprintf(&b, "\n## %s\n\n| way | call |", in.name)
		for _, r := range columns {
			fmt.Fprintf(&b, " %s |", title(r))
		}
		fmt.Fprintf(&b, "\n|%s\n", strings.Repeat("---|", 2+len(columns)))

		var notes []string
		ways := in.ways()
		for i, w := range ways {
			name := string(w.kind)
			if i > 0 && ways[i-1].kind == w.kind {
				name = ""
			}
			if w.create == nil {
				notes = append(notes, fmt.Sprintf("%s: %s", w.kind, w.without))
			}
			fmt.Fprintf(&b, "| %s | %s |", name, w.call)
			for _, r := range columns {
				fmt.Fprintf(&b, " %s |", in.cell(w, r))
			}
			b.WriteString("\n")
		}

		var missing []string
		for _, key := range keyTypes {
			if in.benches[key] == nil {
				missing = append(missing, string(key))
			}
		}
		if len(missing) > 0 {
			notes = append(notes, strings.Join(missing, ", ")+": "+in.without)
		}
		if len(notes) > 0 {
			fmt.Fprintf(&b, "\n– %s.\n", strings.Join(notes, "; "))
		}
		fmt.Fprintf(&b, "\nSee [docs/%s](%[1]s) for more.\n", in.page)
	}
	b.WriteString("\n")
	return b.String()
}

// title returns the header of a column.
func title(r *results) string {
	name := map[string]string{"sqlite": "SQLite", "postgres": "Postgres", "mysql": "MySQL", "mariadb": "MariaDB"}[r.server]
	if _, number, ok := strings.Cut(r.version, " "); ok {
		return name + " " + number
	}
	return name
}

// notRun is what a cell contains until some run has written an outcome.
const notRun = "not run"

// cell returns a single outcome if it's the same for all types of key, and otherwise a
// list.
func (in integration) cell(w way, r *results) string {
	if w.create == nil {
		return "–"
	}
	outcomes := r.outcomes[in.line(w)]
	var order []string // in the order in which we encounter them
	keys := make(map[string][]string)
	for _, key := range keyTypes {
		if in.benches[key] == nil {
			continue
		}
		outcome := cmp.Or(outcomes[key], notRun)
		if keys[outcome] == nil {
			order = append(order, outcome)
		}
		keys[outcome] = append(keys[outcome], string(key))
	}
	switch {
	case len(order) == 1 && order[0] == notRun:
		return notRun
	case len(order) == 1:
		return "all " + order[0]
	}
	var parts []string
	for _, outcome := range order {
		parts = append(parts, strings.Join(keys[outcome], ", ")+" "+outcome)
	}
	return strings.Join(parts, "; ")
}
