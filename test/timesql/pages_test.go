package timesql

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/timesql"
)

// sqlBlock matches a block of SQL, whose first line says where it runs.
var sqlBlock = regexp.MustCompile("(?s)```sql\n-- ([^\n]*)\n(.*?)\n```")

// marks are the first lines of the blocks for a database. A block for a single version
// has the version in its line.
var marks = map[string][]string{
	"postgres":   {"PostgreSQL"},
	"postgres18": {"PostgreSQL", "PostgreSQL 18"},
	"mysql":      {"MySQL and MariaDB"},
	"mariadb":    {"MySQL and MariaDB"},
	"sqlite":     {"SQLite"},
}

// pageText returns the text of a page, or of one section: "page.md#Section".
func pageText(t *testing.T, page string) string {
	t.Helper()
	page, section, part := strings.Cut(page, "#")
	text := string(dbtest.Must(os.ReadFile("../../docs/" + page))(t))
	if !part {
		return text
	}
	_, text, found := strings.Cut(text, "\n## "+section+"\n")
	if !found {
		t.Fatalf("%s has no section %s", page, section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// statements returns the statements of a page for a database, in order.
func statements(t *testing.T, page string, db dbtest.DB) []string {
	t.Helper()
	return marked(t, page, func(mark string) bool { return slices.Contains(marksOf(db), mark) })
}

func marksOf(db dbtest.DB) []string {
	if postgres18(db) {
		return marks["postgres18"]
	}
	return marks[kind(db)]
}

// marked returns the statements of a page whose blocks have the wanted marks. They are separated
// by empty lines.
func marked(t *testing.T, page string, wanted func(mark string) bool) (all []string) {
	t.Helper()
	for _, block := range sqlBlock.FindAllStringSubmatch(pageText(t, page), -1) {
		if wanted(block[1]) {
			for s := range strings.SplitSeq(block[2], "\n\n") {
				all = append(all, strings.TrimSuffix(strings.TrimSpace(s), ";"))
			}
		}
	}
	return all
}

// TestMarks checks that each block of SQL on the pages is run somewhere.
func TestMarks(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"layouts.md", "sql-default.md#Partitions by time", "leaving-snowkey.md"} {
		text := pageText(t, page)
		known := map[string]bool{"ClickHouse": true} // see TestNightlyClickHouse
		for _, list := range marks {
			for _, mark := range list {
				known[mark] = true
			}
		}
		blocks := sqlBlock.FindAllStringSubmatch(text, -1)
		if n := strings.Count(text, "```sql\n") - strings.Count(text, "```sql\nSELECT …"); n != len(blocks) || n < 4 {
			t.Errorf("%s: %d of %d blocks have a mark", page, len(blocks), n)
		}
		for _, block := range blocks {
			if !known[block[1]] {
				t.Errorf("%s: no test runs the blocks of %q", page, block[1])
			}
		}
	}
}

// postgres18 reports whether the server has what is new in Postgres 18.
func postgres18(db dbtest.DB) bool { return strings.HasPrefix(db.Version, "postgres 18") }

// functions creates the functions of a layout, or does nothing on SQLite.
func functions(t *testing.T, db dbtest.DB, conn execer, l idgen.Layout) {
	t.Helper()
	create, drop, err := timesql.Statements(l, kind(db))
	dbtest.NoError(t, err)
	if drop != nil {
		dbtest.Exec(t, conn, create...)
	}
}

// output returns the rows of a query as text.
func output(t *testing.T, conn execer, query string) string {
	t.Helper()
	return strings.Join(dbtest.Rows(t, conn, query), "\n")
}

// refused checks that a statement fails with an error that has this text.
func refused(t *testing.T, conn execer, statement, want string) {
	t.Helper()
	if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), statement); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s\n%v; want an error with %q", statement, err, want)
	}
}

// TestTimeInSQL runs docs/layouts.md on a table with two neighbouring ids of a day.
func TestTimeInSQL(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		conn := session(t, db)
		functions(t, db, conn, idgen.DefaultLayout())
		at := time.Date(2026, 11, 23, 23, 59, 59, 999e6, time.UTC)
		a, b := pair(t, at)
		var query string
		for i, s := range statements(t, "layouts.md", db) {
			dbtest.Exec(t, conn, s)
			if i == 0 {
				dbtest.Exec(t, conn, fmt.Sprintf("INSERT INTO orders (id) VALUES (%d), (%d)", a, b))
			}
			query = s
		}
		if got := output(t, conn, query); !strings.HasPrefix(got, "2026-11-23") || !strings.HasSuffix(got, " 2") {
			t.Errorf("%s\n%s", query, got)
		}
		var rows int
		created := map[string]string{
			"postgres": "created_at = timestamptz '2026-11-23 23:59:59.999+00'", "mysql": "created_at = '2026-11-23 23:59:59.999'", "sqlite": "created_at = '2026-11-23 23:59:59.999'",
		}[db.Dialect]
		if err := one(t, conn, "SELECT count(*) FROM orders WHERE "+created, nil, &rows); err != nil || rows != 2 {
			t.Errorf("%d rows have the time: %v", rows, err)
		}
		first, last := idgen.DefaultLayout().Between(at.Truncate(time.Hour), at.Add(time.Millisecond))
		between := fmt.Sprintf("SELECT id FROM orders WHERE id BETWEEN %d AND %d", first, last)
		if got := output(t, conn, between); got != fmt.Sprintf("%d\n%d", a, b) {
			t.Errorf("%s\n%s", between, got)
		}
		switch db.Dialect {
		case "sqlite":
			if plan := output(t, conn, "EXPLAIN QUERY PLAN "+between); !strings.Contains(plan, "USING INTEGER PRIMARY KEY") {
				t.Errorf("%s\n%s", between, plan)
			}
		case "postgres":
			dbtest.Exec(t, conn, "SET enable_seqscan = off", "CREATE INDEX orders_by_time ON orders (snowkey_time(id))")
			for query, index := range map[string]string{
				"SELECT id FROM orders WHERE snowkey_time(id) >= now()":                                   "orders_by_time",
				"SELECT id FROM orders WHERE (snowkey_time(id) AT TIME ZONE 'UTC')::date >= '2026-11-23'": "orders_by_day",
				"SELECT id FROM orders WHERE id >= snowkey_min_id(now())":                                 "orders_pkey",
				between: "orders_pkey",
			} {
				if plan := output(t, conn, "EXPLAIN "+query); !strings.Contains(plan, index) || index != "orders_pkey" && strings.Contains(plan, "snowkey_time") { // inlined
					t.Errorf("%s\n%s", query, plan)
				}
			}
			refused(t, conn, "SELECT snowkey_min_id('2024-12-31 23:59:59.999+00')", "22008")
		case "mysql":
			refused(t, conn, "CREATE TABLE other (id BIGINT PRIMARY KEY, at DATETIME(3) AS (snowkey_time(id)) STORED)", "snowkey_time")
			refused(t, conn, "SELECT snowkey_min_id('2024-12-31 23:59:59.999')", "2024-12-31 23:59:59.999")
			plan := output(t, conn, map[bool]string{true: "EXPLAIN ", false: "EXPLAIN FORMAT=TRADITIONAL "}[db.MariaDB]+"SELECT created_at FROM orders FORCE INDEX (PRIMARY) WHERE id >= @from AND id < @until")
			if !strings.Contains(plan, " range PRIMARY PRIMARY ") {
				t.Errorf("a range of time does not use the key:\n%s", plan)
			}
		}
	})
}

// pair returns two ids of a time that differ by one.
func pair(t *testing.T, at time.Time) (int64, int64) {
	t.Helper()
	id := dbtest.Must(idgen.DefaultLayout().Compose(idgen.Parts{Time: at, Worker: 77, Sequence: 1234}))(t)
	return id, id + 1
}

// TestPartitions runs docs/sql-default.md, with rows of October and November.
func TestPartitions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel()
		if db.Dialect == "sqlite" {
			return // it has no partitions
		}
		conn := db.Connect(t)
		conn.SetMaxOpenConns(1) // variables and prepared statements belong to a session
		functions(t, db, conn, idgen.DefaultLayout())
		october, november := time.Date(2026, 10, 31, 23, 59, 59, 999e6, time.UTC), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		var plans []string
		made := false
		for _, s := range statements(t, "sql-default.md#Partitions by time", db) {
			if strings.HasPrefix(s, "EXPLAIN") {
				if db.MariaDB {
					s = strings.Replace(s, "EXPLAIN", "EXPLAIN PARTITIONS", 1)
				} else if db.Dialect == "mysql" {
					s = strings.Replace(s, "EXPLAIN", "EXPLAIN FORMAT=TRADITIONAL", 1) // MySQL 9 shows a tree otherwise
				}
				if !made { // rows on both sides of the bound
					for _, at := range []time.Time{october, november, november.AddDate(0, 0, 22)} {
						a, b := pair(t, at)
						dbtest.Exec(t, conn, fmt.Sprintf("INSERT INTO events (id, payload) VALUES (%d, '%v'), (%d, 'next')", a, at.Unix(), b))
					}
					made = true
				}
				plans = append(plans, output(t, conn, s))
				if db.Dialect == "postgres" {
					plans = append(plans, output(t, conn, strings.Replace(s, "EXPLAIN (COSTS OFF)", "EXPLAIN (COSTS OFF, ANALYZE)", 1)))
				}
				continue
			}
			dbtest.Exec(t, conn, s)
		}
		old, current := "events_2026_10", "events_2026_11"
		if db.Dialect == "mysql" {
			old, current = "p2026_10", "p2026_11"
		}
		for _, plan := range plans {
			if !strings.Contains(plan, current) || strings.Contains(plan, old) {
				t.Errorf("the plan reads other partitions than %s:\n%s", current, plan)
			}
		}
		if len(plans) == 0 {
			t.Error("the page has no plan")
		}
		// What is left are the ids of November, and their neighbours are found one by one.
		var left, neighbours int
		a, b := pair(t, november)
		if err := one(t, conn, fmt.Sprintf("SELECT count(*), sum(CASE WHEN id IN (%d, %d) THEN 1 ELSE 0 END) FROM events", a, b), nil, &left, &neighbours); err != nil || left != 4 || neighbours != 2 {
			t.Errorf("%d rows are left and %d neighbours, %v", left, neighbours, err)
		}
		// A row without a partition is refused, and so is a key of created_at.
		late, _ := pair(t, time.Date(2050, 1, 1, 0, 0, 0, 0, time.UTC))
		insert := fmt.Sprintf("INSERT INTO events (id, payload) VALUES (%d, 'late')", late)
		byColumn := "CREATE TABLE other (id BIGINT PRIMARY KEY, created_at %s NOT NULL) PARTITION BY RANGE "
		if db.Dialect == "postgres" {
			refused(t, conn, insert, "23514")
			refused(t, conn, fmt.Sprintf(byColumn, "timestamptz")+"(created_at)", "0A000")
			for query, removed := range map[string]bool{
				"SELECT count(*) FROM events WHERE id >= snowkey_min_id(now() + interval '45 days')": true,
				"SELECT count(*) FROM events WHERE snowkey_time(id) >= now() + interval '45 days'":   false,
			} {
				if plan := output(t, conn, "EXPLAIN "+query); strings.Contains(plan, "Subplans Removed") != removed {
					t.Errorf("%s\n%s", query, plan)
				}
			}
		} else {
			refused(t, conn, insert, "1526")
			refused(t, conn, fmt.Sprintf(byColumn, "DATETIME")+"COLUMNS (created_at) (PARTITION p VALUES LESS THAN (MAXVALUE))", "1503")
			refused(t, conn, "ALTER TABLE events ADD CONSTRAINT FOREIGN KEY (id) REFERENCES events_2026_10 (id)", "1506")
		}
	})
}
