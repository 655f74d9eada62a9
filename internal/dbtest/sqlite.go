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
	dir := Must(os.MkdirTemp(memory(), "snowkey-"))(t)
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
	NoError(t, DB{Driver: db.Driver, DSN: ":memory:"}.read("SELECT sqlite_version()", &version))
	db.Version = "sqlite " + version
	t.Logf("%s", db.Version)
	return db
}
