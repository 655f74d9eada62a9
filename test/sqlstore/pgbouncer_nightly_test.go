//go:build nightly

package sqlstore_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dbtest/cluster"
)

// TestPgBouncer runs the suite through a pooler, which may use a different connection
// for each transaction.
func TestNightlyPgBouncer(t *testing.T) {
	for _, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			db := cluster.PgBouncer(t, dbtest.Postgres(t), "transaction").With("default_query_exec_mode=" + mode)
			conn := db.Connect(t)
			conn.SetMaxIdleConns(64)
			suite(t, db, conn)
		})
	}
}
