//go:build unix

package dbtest

import (
	"database/sql"
	"testing"
	"time"
)

func TestKilledServerStartsAgainWithWhatItCommitted(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			requirePrograms(t, dialect)
			t.Parallel()
			db, process, clock := Clocked(t, dialect)
			mustExec(t, db.Connect(t), "CREATE TABLE kept (n INT)")
			for n := range 2 {
				// Use a new connection, since an old one only learns of the server's
				// death when it's used.
				mustExec(t, db.Connect(t), insertRow)
				if err := clock.Set(time.Duration(n) * time.Hour); err != nil {
					t.Fatal(err)
				}
				if err := process.Kill(); err != nil {
					t.Fatal(err)
				}
				if err := db.read("SELECT 1", new(int)); err == nil {
					t.Error("the killed server takes connections")
				}
				if err := process.Start(); err != nil {
					t.Fatal(err)
				}
				if rows := count(t, db.Connect(t)); rows != n+1 {
					t.Errorf("%d rows, want %d", rows, n+1)
				}
			}
			query := map[string]string{
				"postgres": "SELECT CAST(extract(epoch FROM clock_timestamp()) AS bigint)",
				"mysql":    "SELECT TIMESTAMPDIFF(SECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP())",
			}[dialect]
			var seconds int64
			if err := db.read(query, &seconds); err != nil {
				t.Fatal(err)
			}
			if ahead := time.Until(time.Unix(seconds, 0)); ahead < 50*time.Minute || ahead > 70*time.Minute {
				t.Errorf("the clock is %v ahead, want an hour", ahead)
			}
			if err := process.Kill(); err != nil { // a test may end while its server is dead
				t.Error(err)
			}
		})
	}
}

const insertRow = "INSERT INTO kept VALUES (1)"

func count(t *testing.T, conn *sql.DB) (rows int) {
	t.Helper()
	if err := conn.QueryRow("SELECT COUNT(*) FROM kept").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}
