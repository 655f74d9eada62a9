package migrations_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestSQLDefault runs the files of snowkey sql with each tool, forth and back twice. The
// ids go on from the last one.
func TestSQLDefault(t *testing.T) {
	t.Parallel()
	for name, open := range tools {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
				t.Parallel()
				kind := db.Dialect
				switch {
				case db.MariaDB:
					kind = "mariadb"
				case kind == "sqlite":
					return // it has no such files
				}
				conn := db.Since(t, 15).Connect(t)
				dir := t.TempDir()
				run(t, db, "sql", "--dialect", kind, "--files", dir, "--format", name)
				tool := open(t, db, conn, dir)
				var last int64
				for range 2 {
					dbtest.NoError(t, tool.up())
					for range 3 {
						var id int64
						if err := conn.QueryRow("SELECT snowkey_next()").Scan(&id); err != nil || id <= last || id>>12&1023 != 1023 {
							t.Errorf("%d follows %d: %v", id, last, err)
						}
						last = id
					}
					dbtest.NoError(t, tool.down())
					var id int64
					if err := conn.QueryRow("SELECT snowkey_next()").Scan(&id); err == nil {
						t.Error("the function is still there")
					}
				}
			})
		})
	}
}
