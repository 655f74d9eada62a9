//go:build nightly

package javascript

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite"
	mysqldriver "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

var update = flag.Bool("update", false, "write the rows of the table into "+page)

const page = "README.md"

// safe is the largest integer up to which JavaScript reads each integer exactly.
const safe int64 = 1<<53 - 1

// An errand is what the program in drivers.js is to do.
type errand struct {
	IDs      []string       `json:"ids"` // in order, and in the table
	Table    string         `json:"table"`
	Postgres string         `json:"postgres,omitempty"` // a URL
	MySQL    map[string]any `json:"mysql,omitempty"`    // options of mysql2
	MariaDB  bool           `json:"mariadb,omitempty"`
}

// neighbours returns pairs of ids that differ by 1, among them the first and the last ones
// that the layout can make from now on.
func neighbours(t *testing.T, l idgen.Layout) (ids []int64) {
	t.Helper()
	first := dbtest.Must(l.MinID(time.Now()))(t)
	last := dbtest.Must(l.MaxID(l.Lifetime().End.Add(-l.Unit())))(t)
	for _, low := range []int64{first | 1, first | 2, last/2 | 1, last - 1} {
		ids = append(ids, low, low+1)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// TestNightlyDrivers reads neighbouring ids of both layouts in each way, and compares the results
// with the table of README.md.
func TestNightlyDrivers(t *testing.T) {
	if first, _ := idgen.DefaultLayout().MinID(time.Now()); first <= safe {
		t.Fatal("DefaultLayout makes ids below 2^53")
	}
	if last := slices.Max(neighbours(t, idgen.JSSafe())); last != safe {
		t.Fatalf("the last id of JSSafe is %d; want %d", last, safe)
	}
	folders := []string{dbtest.NPMFolder(t, "pg@8.23.1"), dbtest.NPMFolder(t, "mysql2@3.24.6")}
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		if db.Dialect == "sqlite" {
			return // has no server
		}
		cells := make(map[string][]string)
		for _, layout := range []idgen.Layout{idgen.JSSafe(), idgen.DefaultLayout()} {
			for way, cell := range read(t, db, folders, neighbours(t, layout)) {
				cells[way] = append(cells[way], cell)
			}
		}
		var rows []string
		for _, way := range slices.Sorted(maps.Keys(cells)) {
			rows = append(rows, fmt.Sprintf("| %s | %s |\n", way, strings.Join(cells[way], " | ")))
		}
		if len(rows) < 6 {
			t.Fatalf("only %d ways: %q", len(rows), rows)
		}
		compareTable(t, rows)
	})
}

// read inserts ids, and returns what became of them in each way.
func read(t *testing.T, db dbtest.DB, folders []string, ids []int64) map[string]string {
	t.Helper()
	e := errand{Table: fmt.Sprintf("ids_%d", len(strconv.FormatInt(ids[0], 10)))}
	conn := db.Connect(t)
	dbtest.Must(conn.Exec("CREATE TABLE " + e.Table + " (id BIGINT PRIMARY KEY)"))(t)
	for _, id := range ids {
		e.IDs = append(e.IDs, strconv.FormatInt(id, 10))
		dbtest.Must(conn.Exec(fmt.Sprintf("INSERT INTO %s VALUES (%d)", e.Table, id)))(t)
	}
	if db.Dialect == "postgres" {
		e.Postgres = db.DSN
	} else {
		e.MySQL, e.MariaDB = optionsOf(t, db.DSN), db.MariaDB
	}
	text := dbtest.Must(json.Marshal(e))(t)
	cmd := exec.CommandContext(t.Context(), "node", "drivers.js", string(text))
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Dir(folders[0])+string(os.PathListSeparator)+filepath.Dir(folders[1]))
	var wrong strings.Builder
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, wrong.String())
	}
	var results map[string][][2]string // the type and the text of each id
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cells := make(map[string]string)
	for way, seen := range results {
		cells[way] = judge(t, way, seen, e.IDs)
	}
	return cells
}

// optionsOf returns a DSN as options of mysql2.
func optionsOf(t *testing.T, dsn string) map[string]any {
	t.Helper()
	cfg, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatal("the DSN of the server is not valid")
	}
	host, port, _ := strings.Cut(cfg.Addr, ":")
	number, _ := strconv.Atoi(port)
	return map[string]any{"user": cfg.User, "password": cfg.Passwd, "database": cfg.DBName, "host": host, "port": number}
}

// judge says in a few words what a program saw in place of ids.
func judge(t *testing.T, way string, seen [][2]string, ids []string) string {
	t.Helper()
	if len(seen) != len(ids) {
		t.Errorf("%s: %d results for %d ids", way, len(seen), len(ids))
		return ""
	}
	kind, wrong := seen[0][0], 0
	for i, got := range seen {
		switch {
		case got[0] != kind:
			t.Errorf("%s: some ids are a %s, and others a %s", way, kind, got[0])
		case got[1] != ids[i]:
			wrong++
		}
	}
	switch {
	case kind == "row" && wrong == 0:
		return "finds the row"
	case kind == "row":
		return "**misses the row**"
	case wrong == 0:
		return "exact, a " + kind
	}
	return "**rounds**"
}

// compareTable checks that the page has each of the rows.
func compareTable(t *testing.T, rows []string) {
	t.Helper()
	text := dbtest.Must(os.ReadFile(page))(t)
	const from, to = "<!-- table of TestNightlyDrivers -->\n", "<!-- end -->\n"
	before, rest, ok1 := strings.Cut(string(text), from)
	old, after, ok2 := strings.Cut(rest, to)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table, between %q and %q", page, from, to)
	}
	lines := strings.SplitAfter(old, "\n")
	for _, row := range rows {
		if slices.Contains(lines, row) {
			continue
		}
		way, _, _ := strings.Cut(row[2:], " | ")
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "| "+way+" | ") })
		switch {
		case !*update:
			t.Errorf("%s does not have this row:\n%s", page, row)
		case i >= 0:
			lines[i] = row
		default:
			lines = append(lines, row)
		}
	}
	if *update {
		dbtest.NoError(t, os.WriteFile(page, []byte(before+from+strings.Join(lines, "")+to+after), 0o644))
	}
}
