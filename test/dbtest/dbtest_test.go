// Package dbtest_test tests the SQLite databases of package dbtest, whose module has no driver for them.
package dbtest_test

import (
	"testing"

	_ "github.com/glebarez/go-sqlite"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestSQLiteHasTheSettingsOfAServer(t *testing.T) {
	conn := dbtest.SQLite(t).Connect(t)
	for pragma, want := range map[string]string{"foreign_keys": "1", "busy_timeout": "10000", "journal_mode": "wal"} {
		var got string
		if err := conn.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("PRAGMA %s is %q (%v), want %q", pragma, got, err, want)
		}
	}
}
