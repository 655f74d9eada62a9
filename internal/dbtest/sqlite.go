package dbtest

import (
	"net/url"
	"os"
	"path/filepath"
)

// openSQLite returns a database in a new file. It can be written to from several
// connections, which wait for each other instead of failing immediately.
func openSQLite(t TB) DB {
	t.Helper()
	dir, err := os.MkdirTemp(memory(), "snowkey-")
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	// The DSN is a URI, so the path needs escaping.
	file := url.URL{Path: filepath.Join(dir, "snowkey.db")}
	db := DB{
		Dialect: "sqlite",
		Driver:  "sqlite",
		DSN: "file:" + file.EscapedPath() +
			"?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)",
	}
	var version string
	if err := (DB{Driver: db.Driver, DSN: ":memory:"}).read("SELECT sqlite_version()", &version); err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	db.Version = "sqlite " + version
	t.Logf("%s", db.Version)
	return db
}
