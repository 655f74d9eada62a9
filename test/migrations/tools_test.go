package migrations_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ariga.io/atlas/sql/migrate"
	atlasmysql "ariga.io/atlas/sql/mysql"
	atlaspostgres "ariga.io/atlas/sql/postgres"
	"ariga.io/atlas/sql/schema"
	atlassqlite "ariga.io/atlas/sql/sqlite"
	_ "github.com/glebarez/go-sqlite"
	gomigrate "github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/mysql"
	pgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/database/sqlite3"
	_ "github.com/golang-migrate/migrate/v4/source/file"
	"github.com/pressly/goose/v3"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

type gooseTool struct {
	*goose.Provider
	open func(*sql.DB) tool
	t    *testing.T
}

func newGoose(t *testing.T, db dbtest.DB, conn *sql.DB, dir string) tool {
	t.Helper()
	dialect := map[string]goose.Dialect{"postgres": goose.DialectPostgres, "mysql": goose.DialectMySQL, "sqlite": goose.DialectSQLite3}[db.Dialect]
	p := dbtest.Must(goose.NewProvider(dialect, conn, os.DirFS(dir)))(t)
	return gooseTool{p, func(conn *sql.DB) tool { return newGoose(t, db, conn, dir) }, t}
}

func (g gooseTool) up() error   { _, err := g.UpByOne(g.t.Context()); return err }
func (g gooseTool) down() error { _, err := g.Down(g.t.Context()); return err }

func (g gooseTool) stop() {}

func (g gooseTool) resume(conn *sql.DB) tool { return g.open(conn) }

type golangMigrate struct {
	*gomigrate.Migrate
	open func() golangMigrate
	t    *testing.T
	dir  string
}

func newGolangMigrate(t *testing.T, db dbtest.DB, conn *sql.DB, dir string) tool {
	t.Helper()
	var driver database.Driver
	var err error
	switch db.Dialect {
	case "postgres":
		driver, err = pgx.WithInstance(db.Connect(t), &pgx.Config{})
	case "mysql":
		driver, err = mysql.WithInstance(db.With("multiStatements=true").Connect(t), &mysql.Config{})
	case "sqlite":
		driver, err = sqlite3.WithInstance(db.Connect(t), &sqlite3.Config{NoTxWrap: true})
	}
	dbtest.NoError(t, err)
	m := dbtest.Must(gomigrate.NewWithDatabaseInstance("file://"+dir, db.Dialect, driver))(t)
	return golangMigrate{m, func() golangMigrate { return newGolangMigrate(t, db, conn, dir).(golangMigrate) }, t, dir}
}

func (m golangMigrate) up() error   { return m.Steps(1) }
func (m golangMigrate) down() error { return m.Steps(-1) }

func (m golangMigrate) stop() { _, _ = m.Close() }

// resume sets the version to the one before the file that failed, as golang-migrate asks
// for.
func (m golangMigrate) resume(*sql.DB) tool {
	next := m.open()
	failed, dirty, err := next.Version()
	if err != nil || !dirty {
		m.t.Fatalf("version %d, dirty %t: %v", failed, dirty, err)
	}
	files := dbtest.Must(filepath.Glob(filepath.Join(m.dir, "*.up.sql")))(m.t)
	before := database.NilVersion
	for _, file := range files {
		version := dbtest.Must(strconv.Atoi(strings.SplitN(filepath.Base(file), "_", 2)[0]))(m.t)
		if version < int(failed) {
			before = version
		}
	}
	dbtest.NoError(m.t, next.Force(before))
	return next
}

// atlas does what the command atlas does, with its packages: it computes the checksums, and
// runs each file in a transaction unless the file says otherwise.
type atlas struct {
	t       *testing.T
	dialect string
	conn    *sql.DB
	folder  string
	dir     *migrate.LocalDir
	done    revisions
}

func newAtlas(t *testing.T, db dbtest.DB, conn *sql.DB, folder string) tool {
	t.Helper()
	dir := dbtest.Must(migrate.NewLocalDir(folder))(t)
	dbtest.NoError(t, migrate.WriteSumFile(dir, dbtest.Must(dir.Checksum())(t)))
	return &atlas{t: t, dialect: db.Dialect, conn: conn, folder: folder, dir: dir}
}

// in calls f with a driver of Atlas, in a transaction unless the file begins its own.
func (a *atlas) in(file migrate.File, f func(migrate.Driver) error) error {
	open := func(db schema.ExecQuerier) (migrate.Driver, error) {
		switch a.dialect {
		case "postgres":
			return atlaspostgres.Open(db)
		case "mysql":
			return atlasmysql.Open(db)
		}
		return atlassqlite.Open(db)
	}
	local, ok := file.(*migrate.LocalFile)
	if !ok {
		return errors.New("it is no local file")
	}
	if slices.Equal(local.Directive("txmode"), []string{"none"}) {
		driver, err := open(a.conn)
		if err != nil {
			return err
		}
		return f(driver)
	}
	tx, err := a.conn.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	driver, err := open(tx)
	if err != nil {
		return err
	}
	if err := f(driver); err != nil {
		return err
	}
	return tx.Commit()
}

func (a *atlas) up() error {
	files, err := a.dir.Files()
	if err != nil {
		return err
	}
	if len(a.done) == len(files) {
		return migrate.ErrNoPendingFiles
	}
	return a.in(files[len(a.done)], func(driver migrate.Driver) error {
		ex, err := migrate.NewExecutor(driver, a.dir, &a.done, migrate.WithAllowDirty(true))
		if err != nil {
			return err
		}
		return ex.ExecuteN(a.t.Context(), 1)
	})
}

func (a *atlas) down() error {
	last := a.done[len(a.done)-1]
	files, err := a.dir.Files()
	if err != nil {
		return err
	}
	name := files[len(a.done)-1].Name()
	text, err := os.ReadFile(filepath.Join(a.folder, "undo", name))
	if err != nil {
		return err
	}
	file := migrate.NewLocalFile(name, text)
	err = a.in(file, func(driver migrate.Driver) error {
		statements, err := migrate.FileStmtDecls(driver, file)
		if err != nil {
			return err
		}
		for _, s := range statements {
			if _, err := driver.ExecContext(a.t.Context(), s.Text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.done.DeleteRevision(a.t.Context(), last.Version)
}

func (a *atlas) stop() {}

// resume runs the file that failed from its beginning.
func (a *atlas) resume(conn *sql.DB) tool {
	a.conn = conn
	if last := a.done[len(a.done)-1]; last.Applied < last.Total {
		a.done = a.done[:len(a.done)-1]
	}
	return a
}

// revisions are kept in memory; the command atlas keeps them in a table.
type revisions []*migrate.Revision

func (*revisions) Ident() *migrate.TableIdent { return &migrate.TableIdent{Name: "revisions"} }

func (r *revisions) ReadRevisions(context.Context) ([]*migrate.Revision, error) { return *r, nil }

func (r *revisions) ReadRevision(_ context.Context, version string) (*migrate.Revision, error) {
	for _, one := range *r {
		if one.Version == version {
			return one, nil
		}
	}
	return nil, migrate.ErrRevisionNotExist
}

func (r *revisions) WriteRevision(_ context.Context, revision *migrate.Revision) error {
	for i, one := range *r {
		if one.Version == revision.Version {
			(*r)[i] = revision
			return nil
		}
	}
	*r = append(*r, revision)
	return nil
}

func (r *revisions) DeleteRevision(_ context.Context, version string) error {
	*r = slices.DeleteFunc(*r, func(one *migrate.Revision) bool { return one.Version == version })
	return nil
}

var _ fs.FS = (*migrate.LocalDir)(nil)
