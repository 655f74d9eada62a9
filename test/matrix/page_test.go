package matrix

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

const page = "README.md"

// A line identifies a row of the page.
type line struct{ integration, kind, call string }

// columnOf returns the first word in the header of a server's column.
func columnOf(db dbtest.DB) string {
	if db.MariaDB {
		return "MariaDB"
	}
	return map[string]string{"sqlite": "SQLite", "postgres": "Postgres", "mysql": "MySQL"}[db.Dialect]
}

// checkPage compares a column of the page's tables with the outcomes of a run. With
// -update, it writes the column, and the server's version into its header, instead.
func checkPage(t *testing.T, db dbtest.DB, outcomes map[line]string) {
	t.Helper()
	text := dbtest.Must(os.ReadFile(page))(t)
	_, version, _ := strings.Cut(db.Version, " ")
	title, at := columnOf(db), 0
	var in, kind string
	lines := strings.Split(string(text), "\n")
	for i, row := range lines {
		if heading, ok := strings.CutPrefix(row, "## "); ok {
			in, at = heading, 0
		}
		cells := strings.Split(row, " | ")
		if strings.HasPrefix(row, "| way | call |") {
			cells = strings.Split(strings.TrimSuffix(row, " |"), " | ")
			if at = slices.IndexFunc(cells, func(cell string) bool { return strings.HasPrefix(cell, title+" ") }); at > 0 {
				cells[at] = title + " " + version
			}
		} else if at > 0 && len(cells) > at && !strings.HasPrefix(row, "|---") {
			cells = strings.Split(strings.TrimSuffix(row, " |"), " | ")
			if first := strings.TrimSpace(strings.TrimPrefix(cells[0], "|")); first != "" {
				kind = first
			}
			l := line{in, kind, cells[1]}
			outcome, ok := outcomes[l]
			delete(outcomes, l)
			switch ran := slices.ContainsFunc(integrations, func(i integration) bool { return i.name == in }); {
			case !ran || !ok && cells[at] == "–":
				continue
			case !ok:
				t.Errorf("%s has a row %+v, which is no way of the test", page, l)
			case cells[at] != "all "+outcome && !*update:
				t.Errorf("%+v is %q on %s, and %s says %q; if it is right, run the test with -update", l, outcome, title, page, cells[at])
			}
			cells[at] = "all " + outcome
		} else {
			continue
		}
		lines[i] = strings.Join(cells, " | ") + " |"
	}
	for l, outcome := range outcomes {
		t.Errorf("%s has no row for %+v, which is %q", page, l, outcome)
	}
	if *update && !t.Failed() {
		dbtest.NoError(t, os.WriteFile(page, []byte(strings.Join(lines, "\n")), 0o644))
	}
}
