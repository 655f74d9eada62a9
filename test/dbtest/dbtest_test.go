// Package dbtest_test tests what package dbtest provides, which includes SQLite.
package dbtest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/glebarez/go-sqlite"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestEveryDatabaseTakesRowsAndIsFresh(t *testing.T) {
	var seen []string
	for range 2 { // the second round must not see the table created by the first
		dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
			seen = append(seen, db.DSN)
			conn := db.Connect(t)
			for _, statement := range []string{
				"CREATE TABLE users (id BIGINT PRIMARY KEY, name VARCHAR(20), at TIMESTAMP)",
				"INSERT INTO users VALUES (9007199254740993, '❄ 🔑', '2026-01-02 03:04:05')",
			} {
				dbtest.Must(conn.ExecContext(t.Context(), statement))(t)
			}
			var id int64
			var name string
			var at time.Time
			dbtest.NoError(t, conn.QueryRow("SELECT id, name, at FROM users").Scan(&id, &name, &at))
			if id != 9007199254740993 || name != "❄ 🔑" || at.Year() != 2026 {
				t.Errorf("stored 9007199254740993, ❄ 🔑 and 2026, got %d, %s and %d", id, name, at.Year())
			}
			if !strings.HasPrefix(db.Version, db.Dialect+" ") && !db.MariaDB {
				t.Errorf("version of %s is %q", db.Dialect, db.Version)
			}
			if db.MariaDB != strings.HasPrefix(db.Version, "mariadb ") {
				t.Errorf("version %q, MariaDB: %v", db.Version, db.MariaDB)
			}
		})
	}
	slices.Sort(seen)
	if len(slices.Compact(slices.Clone(seen))) != len(seen) {
		t.Error("two tests had the same database")
	}
}

func TestSQLiteHasTheSettingsOfAServer(t *testing.T) {
	conn := dbtest.SQLite(t).Connect(t)
	for pragma, want := range map[string]string{"foreign_keys": "1", "busy_timeout": "10000", "journal_mode": "wal"} {
		var got string
		if err := conn.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("PRAGMA %s is %q (%v), want %q", pragma, got, err, want)
		}
	}
}
