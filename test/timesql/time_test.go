package timesql

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

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
		if got := output(t, conn, query); !strings.Contains(got, "=2026-11-23") || !strings.Contains(got, "=2\n") {
			t.Errorf("%s\n%s", query, got)
		}
		var rows int
		created := map[string]string{
			"postgres": "created_at = timestamptz '2026-11-23 23:59:59.999+00'", "mysql": "created_at = '2026-11-23 23:59:59.999'", "sqlite": "created_at = '2026-11-23 23:59:59.999'",
		}[db.Dialect]
		if err := one(t, conn, "SELECT count(*) FROM orders WHERE "+created, nil, &rows); err != nil || rows != 2 {
			t.Errorf("%d rows have the time: %v", rows, err)
		}
		switch db.Dialect {
		case "postgres":
			dbtest.Exec(t, conn, "SET enable_seqscan = off", "CREATE INDEX orders_by_time ON orders (snowkey_time(id))")
			for query, index := range map[string]string{
				"SELECT id FROM orders WHERE snowkey_time(id) >= now()":                                   "orders_by_time",
				"SELECT id FROM orders WHERE (snowkey_time(id) AT TIME ZONE 'UTC')::date >= '2026-11-23'": "orders_by_day",
				"SELECT id FROM orders WHERE id >= snowkey_min_id(now())":                                 "orders_pkey",
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
			if !regexp.MustCompile(`(?m)^type=range$`).MatchString(plan) || !strings.Contains(plan, "key=PRIMARY") {
				t.Errorf("a range of time does not use the key:\n%s", plan)
			}
		}
	})
}
