package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
)

// fileOf returns the file of a database.
func fileOf(t *testing.T, conn *sql.DB) (file string) {
	t.Helper()
	dbtest.NoError(t, conn.QueryRow("SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file))
	return file
}

func TestSQLiteStore(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) lease.Store { return sqlstore.SQLite(dbtest.SQLite(t).Connect(t)) })
}

// Who may write the database may lease.
func TestSQLiteFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	for file, want := range map[os.FileMode]os.FileMode{
		0o600: os.ModeDir | 0o700,
		0o644: os.ModeDir | 0o700,
		0o660: os.ModeDir | os.ModeSetgid | 0o770,
	} {
		conn := dbtest.SQLite(t).Connect(t)
		path := fileOf(t, conn)
		dbtest.NoError(t, os.Chmod(path, file))
		claimed(t, sqlstore.SQLite(conn))
		if info, err := os.Stat(path + "-snowkey"); err != nil || info.Mode() != want {
			t.Errorf("the folder of a file with %v has %v, %v; want %v", file, info.Mode(), err, want)
		}
	}
}

// Processes may open one file by several paths.
func TestSQLiteLinks(t *testing.T) {
	db := dbtest.SQLite(t)
	conn := db.Connect(t)
	path := fileOf(t, conn)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	other := dbtest.Must(sql.Open(db.Driver, "file:"+link))(t)
	defer other.Close()
	row := claimed(t, sqlstore.SQLite(conn))
	if rows, err := sqlstore.SQLite(other).Rows(t.Context(), terms, 0, 1023); err != nil || len(rows) != 1 || rows[0].Token != row.Token {
		t.Errorf("through a link: %+v, %v", rows, err)
	}
	if _, err := os.Stat(link + "-snowkey"); err == nil {
		t.Error("the link has a folder of its own")
	}
}

// openSQLite opens a pool, and returns an id.
func openSQLite(t *testing.T, conn *sql.DB) (id, worker int64, end func()) {
	t.Helper()
	pool := dbtest.Must(snowkey.Open(t.Context(), sqlstore.SQLite(conn), snowkey.Config{Logger: slog.New(slog.DiscardHandler)}))(t)
	worker, _ = pool.Worker()
	return dbtest.Must(pool.Next(t.Context()))(t), worker, func() { pool.Close(context.Background()) }
}

// Databases in memory share their leases, since several *sql.DB may have the same one.
func TestSQLiteInMemory(t *testing.T) {
	driver := dbtest.SQLite(t).Driver
	seen := map[int64]bool{}
	for _, dsn := range []string{":memory:", "file:shared?mode=memory&cache=shared", "file:shared?mode=memory&cache=shared"} {
		conn := dbtest.Must(sql.Open(driver, dsn))(t)
		defer conn.Close()
		_, worker, end := openSQLite(t, conn)
		defer end()
		if seen[worker] {
			t.Errorf("%s has the worker number of another database", dsn)
		}
		seen[worker] = true
	}
}

// A copy of the database, or the database without its folder, starts above all ids that
// were issued, and so does a folder that was copied back.
func TestSQLiteWithoutFolder(t *testing.T) {
	db := dbtest.SQLite(t)
	conn := db.Connect(t)
	folder := fileOf(t, conn) + "-snowkey"
	last, _, end := openSQLite(t, conn)
	end()
	saved := filepath.Join(t.TempDir(), "saved")
	dbtest.NoError(t, os.CopyFS(saved, os.DirFS(folder)))
	for name, restore := range map[string]func() error{
		"removed": func() error { return nil },
		"copied":  func() error { return os.CopyFS(folder, os.DirFS(saved)) },
	} {
		next, _, end := openSQLite(t, conn)
		last = max(last, next)
		end()
		dbtest.NoError(t, errors.Join(os.RemoveAll(folder), restore()))
		if next, _, end = openSQLite(t, conn); next <= last {
			t.Errorf("%s: the id %d after %d", name, next, last)
		}
		end()
		last = next
	}
}

// A process whose database was moved stops renewing, because the processes that use it at
// its new path have another folder.
func TestSQLiteMoved(t *testing.T) {
	conn := dbtest.SQLite(t).Connect(t)
	store := sqlstore.SQLite(conn)
	held := claimed(t, store)
	if err := os.Rename(fileOf(t, conn), filepath.Join(t.TempDir(), "moved.db")); err != nil {
		t.Skip(err) // Windows refuses it
	}
	if _, ok, err := store.Renew(t.Context(), lease.Renewal{Terms: terms, Held: held, Token: "second", Wanted: 1 << 62}); ok || err == nil {
		t.Errorf("renewed: %v, %v", ok, err)
	}
}
