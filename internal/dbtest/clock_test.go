package dbtest

import (
	"testing"
	"time"
)

func TestClockOfAServer(t *testing.T) {
	for _, dialect := range Databases(t) {
		query, ok := map[string]string{
			"postgres": "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)",
			"mysql":    "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) DIV 1000",
		}[dialect]
		if !ok {
			continue // SQLite uses the clock of this process
		}
		t.Run(dialect, func(t *testing.T) {
			db, process, clock := Clocked(t, dialect)
			conn := db.Connect(t)
			check := func(by time.Duration) {
				t.Helper()
				var ms int64
				if err := conn.QueryRow(query).Scan(&ms); err != nil {
					t.Fatal(err)
				}
				if off := time.Until(time.UnixMilli(ms)) - by; off.Abs() > 10*time.Second {
					t.Errorf("the server's clock is %v from what it was set to", off)
				}
			}
			check(0)
			for _, by := range []time.Duration{time.Hour, -time.Hour, 90 * time.Second} {
				if err := clock.Set(by); err != nil {
					t.Fatal(err)
				}
				check(by)
			}
			if err := process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
			conn = db.Connect(t)
			check(90 * time.Second)
		})
	}
}
