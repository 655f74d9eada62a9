//go:build nightly

package timesql

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestNightlyDropMonth measures how long it takes to delete a month with ROWS rows
// (5,000,000) from a table, beside dropping the same month from a partitioned one. The
// next month has a fifth of that. The figures in docs/partitions.md come from its log.
func TestNightlyDropMonth(t *testing.T) {
	t.Parallel()
	rows, err := strconv.ParseInt(cmp.Or(os.Getenv("ROWS"), "5000000"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, dialect := range dbtest.Databases(t) {
		if dialect == "sqlite" {
			continue // it has no partitions
		}
		t.Run(dialect, func(t *testing.T) { dropMonth(t, dbtest.Durable(t, dialect), rows) })
	}
}

func dropMonth(t *testing.T, db dbtest.DB, rows int64) {
	conn := db.Connect(t)
	conn.SetMaxOpenConns(1)
	functions(t, db, conn, idgen.DefaultLayout())
	october := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	first, _ := pair(t, october)
	bound, err := idgen.DefaultLayout().MinID(october.AddDate(0, 1, 0))
	if err != nil {
		t.Fatal(err)
	}
	step := 2 * (bound - first) / rows // of pairs
	end := first + step*rows/10*6      // 6/5 of the rows

	exec := func(statement string) time.Duration {
		t.Helper()
		start := time.Now()
		run(t, conn, statement)
		return time.Since(start)
	}
	for _, s := range statements(t, "partitions.md", db)[:map[string]int{"postgres": 3, "mysql": 1}[db.Dialect]] {
		exec(s)
	}
	exec("CREATE TABLE plain (id BIGINT PRIMARY KEY, payload VARCHAR(100) NOT NULL)")
	exec(fmt.Sprintf("INSERT INTO plain VALUES (%d, '%0100d'), (%d, '%0100d')", first, 1, first+1, 2))
	for have := int64(1); first+have*step < end; have *= 2 {
		exec(fmt.Sprintf("INSERT INTO plain SELECT id + %d, payload FROM plain WHERE id < %d", have*step, end-have*step))
	}
	exec("INSERT INTO events SELECT * FROM plain")
	if db.Dialect == "postgres" {
		exec("VACUUM ANALYZE plain")
		exec("VACUUM ANALYZE events")
		exec("CHECKPOINT")
	}
	count := func(from string) (n int64) {
		t.Helper()
		if err := one(t, conn, "SELECT count(*) FROM "+from, nil, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	month, all := count(fmt.Sprintf("plain WHERE id < %d", bound)), count("plain")
	if month < rows*99/100 || all != count("events") {
		t.Fatalf("%d rows, %d of them in the month", all, month)
	}

	before := written(t, db, conn)
	deleting := exec(fmt.Sprintf("DELETE FROM plain WHERE id < %d", bound))
	after := written(t, db, conn)
	var vacuum time.Duration
	if db.Dialect == "postgres" {
		vacuum = exec("VACUUM plain")
	}
	after2 := written(t, db, conn)
	var dropping time.Duration
	if db.Dialect == "postgres" {
		dropping = exec("ALTER TABLE events DETACH PARTITION events_2026_10 CONCURRENTLY") + exec("DROP TABLE events_2026_10")
	} else {
		dropping = exec("ALTER TABLE events DROP PARTITION p2026_10")
	}
	last := written(t, db, conn)
	if left := count("events"); left != all-month || left != count("plain") {
		t.Errorf("%d rows are left in events, want %d", left, all-month)
	}
	t.Logf("%s: %d of %d rows: DELETE %v and %d MB of log, VACUUM %v and %d MB; dropping the partition %v and %.1f MB",
		db.Version, month, all, deleting, (after-before)>>20, vacuum, (after2-after)>>20, dropping, float64(last-after2)/(1<<20))
}

// written returns how many bytes the server has written to its log of transactions.
func written(t *testing.T, db dbtest.DB, conn *sql.DB) (n int64) {
	t.Helper()
	query, to := "SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'", []any{new(string), &n}
	if db.Dialect == "postgres" {
		query, to = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint", []any{&n}
	}
	if err := conn.QueryRowContext(context.WithoutCancel(t.Context()), query).Scan(to...); err != nil {
		t.Fatal(err)
	}
	return n
}
