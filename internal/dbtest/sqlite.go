package dbtest

import (
	"database/sql"
	"net/url"
	"path/filepath"
)

// openSQLite returns a file of its own. Several connections may write to it:
// they wait for each other instead of failing at once.
func openSQLite(t TB) DB {
	t.Helper()
	// The DSN is a URI, and the second subtest of one name has a # in its directory's.
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
