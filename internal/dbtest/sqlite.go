package dbtest

import (
	"database/sql"
	"net/url"
	"path/filepath"
)

// openSQLite returns a database in a new file. It can be written to from several
// connections, which wait for each other instead of failing immediately.
func openSQLite(t TB) DB {
	t.Helper()
	// The DSN is a URI, so the path needs escaping: if two subtests have the same name,
	// the directory of the second one contains a #.
	file := url.URL{Path: filepath.Join(t.TempDir(), "snowkey.db")}
	db := DB{
		Dialect: "sqlite",
		Driver:  "sqlite",
		DSN: "file:" + file.EscapedPath() +
			"?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)",
	}
	memory, err := sql.Open(db.Driver, ":memory:")
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	defer memory.Close()
	var version string
	if err := memory.QueryRow("SELECT sqlite_version()").Scan(&version); err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	db.Version = "sqlite " + version
	t.Logf("%s", db.Version)
	return db
}
