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
			db, process := Killable(t, dialect)
			if _, err := db.Connect(t).Exec("CREATE TABLE kept (n INT)"); err != nil {
				t.Fatal(err)
			}
			for n := range 3 {
				// Use a new connection, since an old one only learns of the server's
				// death when it's used.
				if _, err := db.Connect(t).Exec("INSERT INTO kept VALUES (1)"); err != nil {
					t.Fatal(err)
				}
				if err := process.Kill(); err != nil {
					t.Fatal(err)
				}
				fresh, err := sql.Open(db.Driver, db.DSN)
				if err != nil {
					t.Fatal(err)
				}
				if fresh.Ping() == nil {
					t.Error("the killed server takes connections")
				}
				fresh.Close()
				start := time.Now()
				if err := process.Start(); err != nil {
					t.Fatal(err)
				}
				t.Logf("answers %v after the start", time.Since(start).Round(time.Millisecond))
				var rows int
				if err := db.Connect(t).QueryRow("SELECT COUNT(*) FROM kept").Scan(&rows); err != nil || rows != n+1 {
					t.Errorf("%d rows, %v, want %d", rows, err, n+1)
				}
			}
			if err := process.Kill(); err != nil { // a test may end while its server is dead
				t.Error(err)
			}
		})
	}
}
