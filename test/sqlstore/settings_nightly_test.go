//go:build nightly

package sqlstore_test

import (
	"fmt"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

func TestNightlySettings(t *testing.T) { underSettings(t, false) }

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
