package hostile

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestSQLite lets two programs share a worker number under each setting of
// SQLite.
func TestSQLite(t *testing.T) {
	t.Parallel()
	server := dbtest.SQLite(t) // each row uses its own file
	set := func(statements ...string) session { return session{init: statements} }
	var rows []row
	for _, r := range []row{
		{name: "defaults"},
		{fast: true, name: "transactions left open", app: leavesOpen("BEGIN")},
		{name: "one transaction left open", app: once(leavesOpen("BEGIN"))},
		{fast: true, name: "one transaction that writes left open", app: once(leavesOpen("BEGIN IMMEDIATE"))},
		{fast: true, name: "query_only", session: set("PRAGMA query_only = 1"), want: worksOrRefused, names: "readonly"},
		{name: "read_uncommitted", session: set("PRAGMA read_uncommitted = 1")},
		{fast: true, name: "synchronous=OFF", session: set("PRAGMA synchronous = OFF")},
	} {
		rows = append(rows, r.variants()...)
	}
	each(t, selected(rows), func(r row) string { return r.name }, func(t *testing.T, r row) { r.test(t, server) })
}
