//go:build nightly

package sqlstore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

func TestNightlySettings(t *testing.T) { underSettings(t, false) }

// TestNightlySnapshotIsolation makes MariaDB refuse to update a row that has changed since
// its transaction began. This is the default since 11.6.2.
func TestNightlySnapshotIsolation(t *testing.T) {
	db := dbtest.MySQL(t)
	err := db.Connect(t).QueryRow("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'").Scan(new(string), new(string))
	if errors.Is(err, sql.ErrNoRows) {
		t.Skipf("%s has no snapshot isolation to turn on", db.Version)
	}
	db = db.With("innodb_snapshot_isolation=ON&tx_isolation=%27REPEATABLE-READ%27")
	conn := db.Connect(t)
	conn.SetMaxIdleConns(64)
	requireSetting(t, conn, "SELECT @@innodb_snapshot_isolation", "1")
	suite(t, db, conn)
}

// TestNightlyUnknown runs the suite on a server that knows nothing of what a store reads
// of it.
func TestNightlyUnknown(t *testing.T) {
	for _, dialect := range dbtest.Servers(t) {
		t.Run(dialect, func(t *testing.T) {
			db := dbtest.Open(t, dialect)
			conn, g := disguise(t, db, func(s string) bool { return s != "@@autocommit" })
			conn.SetMaxIdleConns(64)
			owner := db.Connect(t)
			tables := 0
			leasetest.Run(t, func(t *testing.T) lease.Store {
				tables++
				s := open(t, db, conn, fmt.Sprint("unknown", tables))
				s.db = owner // used to edit rows
				return s
			})
			t.Run("segments", func(t *testing.T) { segments(t, db, conn) })
			if g.renamed == 0 {
				t.Error("no statement was changed")
			}
		})
	}
}
