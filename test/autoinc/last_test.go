package autoinc_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// After a migration, the database no longer returns the key of the last row. MySQL and
// MariaDB return 0, whereas SQLite returns a number that isn't the key at all.
func TestLastInsertID(t *testing.T) {
	t.Parallel()
	fewModes(t, func(t *testing.T, db dbtest.DB, options autoinc.PlanOptions) {
		if db.Dialect == "postgres" {
			t.Skip("Postgres has no such function for statements")
		}
		conn := db.Connect(t)
		exec(t, conn, "CREATE TABLE t (id "+map[string]string{"mysql": "INT AUTO_INCREMENT PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY"}[db.Dialect]+", a int)",
			"INSERT INTO t (a) VALUES (1), (2), (3)")
		applyAll(t, conn, plan(t, conn, options), autoinc.ApplyOptions{})
		const key = 7350000000000000001
		result, err := conn.Exec("INSERT INTO t (id, a) VALUES (7350000000000000001, 4)")
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int64{"mysql": 0, "sqlite": 4}[db.Dialect]
		if id, err := result.LastInsertId(); err != nil || id != want || id == key {
			t.Errorf("LastInsertId is %d, want %d: %v", id, want, err)
		}
	})
}
