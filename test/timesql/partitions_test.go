package timesql

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

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
