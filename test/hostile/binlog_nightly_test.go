//go:build nightly

package hostile

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestNightlyBinlogStatement lets two programs share a worker number on a server that logs
// statements, and therefore refuses the statements of READ COMMITTED transactions.
func TestNightlyBinlogStatement(t *testing.T) {
	server := durableMySQL(t)
	if dbtest.Rows(t, server.Connect(t), "SELECT @@log_bin")[0] == "0" {
		if !server.MariaDB {
			t.Skipf("%s has no binary log, and only a private MariaDB can be started with one", server.Version)
		}
		server = dbtest.Durable(t, "mysql", "log-bin=binlog", "sync-binlog=1", "server-id=7")
	}
	statements := func(more string) session {
		return session{init: []string{"SET SESSION binlog_format = 'STATEMENT'", more}}
	}
	const level = "SET SESSION TRANSACTION ISOLATION LEVEL "
	each(t, []row{
		{name: "isolation READ COMMITTED", session: statements(level + "READ COMMITTED"), want: worksOrRefused, names: "binlog_format"},
		{name: "isolation READ UNCOMMITTED", session: statements(level + "READ UNCOMMITTED"), want: worksOrRefused, names: "binlog_format"},
		{name: "isolation REPEATABLE READ", session: statements(level + "REPEATABLE READ")},
		{name: "isolation SERIALIZABLE", session: statements(level + "SERIALIZABLE")},
		{name: "autocommit=0", session: statements("SET autocommit = 0")},
		{name: "binlog_format=MIXED", session: statements("SET SESSION binlog_format = 'MIXED'")},
	}, func(r row) string { return r.name }, func(t *testing.T, r row) { r.test(t, server) })
}
