package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/snowkey-go/snowkey/internal/kvlease"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
)

// A SQLiteStore keeps the leases of a SQLite database in a folder beside the database
// file, using package filestore. Use [SQLite] to create one.
//
// A SQLiteStore is safe for concurrent use. It only uses the database to find its file.
// Leases of a database in memory are in the memory of the process.
type SQLiteStore struct {
	engine
	db *sql.DB

	mu    sync.Mutex
	in    kvlease.Backend  // where the leases are; nil before the file was found
	file  string           // the file of the database, "" if it is in memory
	files *filestore.Store // nil if the database is in memory
}

type engine = kvlease.Store

var _ lease.Store = (*SQLiteStore)(nil)

// SQLite returns a store for the database of db. It requires SQLite 3.16 or later, and a
// database that is either in memory or a file on a local disk of this host. The leases of
// shop.db are in the folder shop.db-snowkey.
func SQLite(db *sql.DB) *SQLiteStore {
	s := &SQLiteStore{db: db}
	s.engine = engine{Backend: folder{s}, AtOnce: 1, OneHost: true} // as in package filestore
	return s
}

// suffix follows the name of the database's file.
const suffix = "-snowkey"

// findText finds the database's file, its journal mode, and whether it has the lease
// tables that development versions of Snowkey made.
const findText = `SELECT l.file, (SELECT journal_mode FROM pragma_journal_mode), (SELECT COUNT(*) FROM main.sqlite_master WHERE name = 'snowkey_lease')
FROM pragma_database_list l WHERE l.name = 'main'`

// inMemory has the leases of all databases in memory, which only this process can use. We
// can't tell whether two *sql.DB share one of them.
var inMemory kvlease.Map

// find returns where the leases are. The first call asks the database for its file.
func (s *SQLiteStore) find(ctx context.Context) (kvlease.Backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.in != nil {
		return s.in, nil
	}
	var file, journal string
	var tables int
	err := sqlsession.Read(ctx, s.db, sqldialect.SQLite, sqlsession.Settings{}, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, findText).Scan(&file, &journal, &tables)
	})
	switch {
	case errors.Is(err, sqlsession.ErrNoDatabase):
		return nil, unusable(err)
	case err != nil && (ctx.Err() != nil || strings.Contains(err.Error(), "locked")):
		return nil, fmt.Errorf("sqlstore: %w", err)
	case err != nil:
		return nil, &lease.PermanentError{Err: fmt.Errorf("sqlstore: this is not a database of SQLite, or its file cannot be opened: %w", err), Remedy: "use the store of your database, such as sqlstore.Postgres"}
	case tables > 0:
		return nil, &lease.PermanentError{
			Err:    errors.New("sqlstore: the database has the lease tables of an earlier version, but leases are now in a folder beside the file"),
			Remedy: "stop all processes, DROP TABLE snowkey_lease, DROP TABLE snowkey_lease_ns, and start again",
		}
	case file == "" && journal != "memory" && journal != "off":
		return nil, refuse("the database has no file, and is not in memory")
	case file == "":
		s.in = &inMemory
		return s.in, nil
	}
	// All processes must find the same folder, whichever links they use.
	path, err := filepath.EvalSymlinks(file)
	info, gone := os.Stat(path)
	switch {
	case err != nil, gone != nil, !filepath.IsAbs(path), !info.Mode().IsRegular():
		return nil, refuse(fmt.Sprintf("the database says that its file is %q, which is not a file on this host", file))
	case isRemote(path):
		return nil, refuse(fmt.Sprintf("the file %q of the database is on a network file system", path))
	}
	if other, err := os.Stat(path + suffix); err == nil && !other.IsDir() {
		return nil, refuse(fmt.Sprintf("%q is not a folder", path+suffix))
	}
	s.file, s.files = path, filestore.Dir(path+suffix, filestore.Mode(folderMode(info)))
	s.in = s.files.Backend
	return s.in, nil
}

// folderMode returns the permissions of a database's folder. Who may write the database
// must be able to renew a lease. Nobody else may open the lock file, since that is enough
// to lock it.
func folderMode(file fs.FileInfo) fs.FileMode {
	var mode fs.FileMode = 0o700
	if file.Mode()&0o020 != 0 {
		mode |= 0o070 | fs.ModeSetgid // so that the files inside have the group too
	}
	if file.Mode()&0o002 != 0 {
		mode |= 0o007
	}
	return mode
}

func refuse(reason string) error {
	return &lease.PermanentError{
		Err:    errors.New("sqlstore: " + reason + ", so its leases cannot be kept beside it"),
		Remedy: "if all processes that use the database run on one host, give snowkey.Open the store filestore.Dir with a directory on a local disk of it",
	}
}

// explain makes errors permanent that a retry does not fix.
func explain(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &lease.PermanentError{
			Err:    fmt.Errorf("sqlstore: %w", err),
			Remedy: "let this user write to the folder of the database, or give snowkey.Open the store filestore.Dir with a directory that all processes of the host share",
		}
	}
	return err
}

// use calls f with where the leases are.
func (s *SQLiteStore) use(ctx context.Context, f func(kvlease.Backend) error) error {
	b, err := s.find(ctx)
	if err != nil {
		return err
	}
	return explain(f(b))
}

// Migrate creates the folder if it doesn't exist, with the owner and group of the
// database's file. Users who may write to the file may use the folder.
func (s *SQLiteStore) Migrate(ctx context.Context) error {
	if _, err := s.find(ctx); err != nil || s.files == nil {
		return err
	}
	if err := makeFolder(s.file); err != nil {
		return explain(err)
	}
	return explain(s.files.Migrate(ctx))
}

// makeFolder makes the folder of a database.
func makeFolder(file string) error {
	folder := file + suffix
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	share(folder, info)
	if err := os.Chmod(folder, folderMode(info)); err != nil {
		return err
	}
	if above, err := os.Open(filepath.Dir(file)); err == nil {
		above.Sync() // not possible on each system
		above.Close()
	}
	return nil
}

// Namespaces returns the names of all namespaces that have a file, sorted.
func (s *SQLiteStore) Namespaces(ctx context.Context) ([]string, error) {
	if _, err := s.find(ctx); err != nil || s.files == nil {
		return nil, err
	}
	names, err := s.files.Namespaces(ctx)
	return names, explain(err)
}

// A folder gives package kvlease the texts in the store's folder.
type folder struct{ *SQLiteStore }

// Read implements [kvlease.Backend].
func (b folder) Read(ctx context.Context, terms lease.Terms, least, most int64) (v kvlease.View, err error) {
	err = b.use(ctx, func(in kvlease.Backend) (err error) { v, err = in.Read(ctx, terms, least, most); return err })
	return v, err
}

// Swap implements [kvlease.Backend]. No ids must be issued if the database was moved in the
// meantime, because the processes that find it at its new path start above what was granted
// until then. Its old folder doesn't move with it.
func (b folder) Swap(ctx context.Context, v kvlease.View, grants bool, texts map[int64]string) (done bool, err error) {
	err = b.use(ctx, func(in kvlease.Backend) (err error) { done, err = in.Swap(ctx, v, grants, texts); return err })
	if err == nil && grants && b.file != "" {
		if _, gone := os.Stat(b.file); gone != nil {
			err = fmt.Errorf("sqlstore: the file of the database was moved or removed: %w", gone)
		}
	}
	return done && err == nil, err
}
