package migrations_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
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

func (g gooseTool) resume(conn *sql.DB) tool { return g.open(conn) }

type golangMigrate struct {
	*gomigrate.Migrate
	open func() tool
	t    *testing.T
	last int // the version before the last file
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
	t.Cleanup(func() { _, _ = m.Close() })
	return &golangMigrate{Migrate: m, open: func() tool { return newGolangMigrate(t, db, conn, dir) }, t: t}
}

func (m *golangMigrate) up() error {
	version, _, err := m.Version()
	if m.last = int(version); errors.Is(err, gomigrate.ErrNilVersion) {
		m.last = database.NilVersion
	}
	return m.Steps(1)
}

func (m *golangMigrate) down() error { return m.Steps(-1) }

// resume sets the version to the one before the file that failed, as golang-migrate asks
// for.
func (m *golangMigrate) resume(*sql.DB) tool {
	_, _ = m.Close()
	next := m.open().(*golangMigrate)
	dbtest.NoError(m.t, next.Force(m.last))
	return next
}

// atlas does what the command atlas does, with its packages: it runs the statements of a
// file in a transaction, unless the file says otherwise.
type atlas struct {
	t       *testing.T
	dialect string
	conn    *sql.DB
	folder  string
	files   []migrate.File
	done    int // files
}

func newAtlas(t *testing.T, db dbtest.DB, conn *sql.DB, folder string) tool {
	t.Helper()
	files := dbtest.Must(dbtest.Must(migrate.NewLocalDir(folder))(t).Files())(t)
	return &atlas{t: t, dialect: db.Dialect, conn: conn, folder: folder, files: files}
}

// run runs the statements of a file, in a transaction unless the file begins its own.
func (a *atlas) run(file *migrate.LocalFile) error {
	if slices.Equal(file.Directive("txmode"), []string{"none"}) {
		return a.runIn(a.conn, file)
	}
	tx, err := a.conn.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := a.runIn(tx, file); err != nil {
		return err
	}
	return tx.Commit()
}

func (a *atlas) runIn(conn schema.ExecQuerier, file *migrate.LocalFile) error {
	open := map[string]func(schema.ExecQuerier) (migrate.Driver, error){"postgres": atlaspostgres.Open, "mysql": atlasmysql.Open, "sqlite": atlassqlite.Open}
	driver, err := open[a.dialect](conn)
	if err != nil {
		return err
	}
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
}

func (a *atlas) up() error {
	if a.done == len(a.files) {
		return migrate.ErrNoPendingFiles
	}
	err := a.run(a.files[a.done].(*migrate.LocalFile))
	if err == nil {
		a.done++
	}
	return err
}

func (a *atlas) down() error {
	name := a.files[a.done-1].Name()
	text, err := os.ReadFile(filepath.Join(a.folder, "undo", name))
	if err == nil {
		err = a.run(migrate.NewLocalFile(name, text))
	}
	if err == nil {
		a.done--
	}
	return err
}

// resume runs the file that failed from its beginning.
func (a *atlas) resume(conn *sql.DB) tool {
	a.conn = conn
	return a
}
