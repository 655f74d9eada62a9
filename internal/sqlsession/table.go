package sqlsession

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

// ErrNoDatabase is returned for a nil *sql.DB.
var ErrNoDatabase = errors.New("there is no database; make the store with Postgres, MySQL or SQLite and an open *sql.DB")

var tableName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,50}\.)?[A-Za-z_][A-Za-z0-9_]{0,50}$`)

// CheckName returns an error if name is not allowed for a table. A name has at most 51
// ASCII letters, digits and underscores. It may be preceded by the name of a schema or
// database, which must have the same form, and a dot.
func CheckName(name string) error {
	if !tableName.MatchString(name) {
		return fmt.Errorf("snowkey: %.120q cannot be the name of a table; use up to 51 letters, digits and underscores, after a schema name and a dot if needed", name)
	}
	return nil
}

// SplitName splits a name into schema and table. The schema is "" if the name has none.
func SplitName(name string) (schema, table string) {
	if before, after, ok := strings.Cut(name, "."); ok {
		return before, after
	}
	return "", name
}

// Create runs a statement that creates a table.
func Create(ctx context.Context, db *sql.DB, d sqldialect.Dialect, statement string) error {
	switch d {
	case sqldialect.Postgres:
		return createPostgres(ctx, db, statement)
	case sqldialect.SQLite:
		_, err := db.ExecContext(ctx, statement)
		return err
	}
	_, _, err := writeMySQL(ctx, db, Settings{}, func(int64) bool { return true }, statement)
	return err
}

// A Table is a table of a store in the application's database. It is safe for concurrent
// use.
type Table struct {
	sqldialect.Dialect
	db   *sql.DB
	name string // not quoted
	ddl  embed.FS

	inspected atomic.Bool // whether the table was checked and is usable
}

// NewTable returns a table that ddl creates, with a file such as postgres.sql for each
// dialect. The name must have passed [CheckName].
func NewTable(db *sql.DB, d sqldialect.Dialect, name string, ddl embed.FS) *Table {
	return &Table{Dialect: d, db: db, name: name, ddl: ddl}
}

// WithName returns the table called name in the same database.
func (t *Table) WithName(name string) (*Table, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	return NewTable(t.db, t.Dialect, name, t.ddl), nil
}

// Name returns the name without quotes.
func (t *Table) Name() string { return t.name }

// Fill inserts the quoted name in place of {table}, and the protocol version in place of
// {protocol}.
func (t *Table) Fill(statement string) string {
	return strings.NewReplacer("{table}", t.Table(t.name), "{protocol}", protocol.Known()).Replace(statement)
}

// Migrate creates the table if it does not exist. Otherwise it returns the errors of
// [Inspect].
func (t *Table) Migrate(ctx context.Context) error {
	there, err := t.inspect(ctx)
	if there || err != nil {
		return err
	}
	ddl, _ := t.ddl.ReadFile(string(t.Dialect) + ".sql") // all of them are there
	return Create(ctx, t.db, t.Dialect, t.Fill(string(ddl)))
}

// DB returns the database. It inspects the table at the first call, and until it has found
// a usable table. It returns no error if there is no table, since the statement that follows
// does.
func (t *Table) DB(ctx context.Context) (db *sql.DB, err error) {
	if !t.inspected.Load() {
		_, err = t.inspect(ctx)
	}
	return t.db, err
}

// Write runs a write.
func (t *Table) Write(ctx context.Context, text string, values map[string]any) (answer int64, changed bool, err error) {
	db, err := t.DB(ctx)
	if err != nil {
		return 0, false, err
	}
	return Write{Text: t.Fill(text), Values: values}.Run(ctx, db, t.Dialect)
}

// Reserve calls [Reserve], except on SQLite, which has one writer at a time.
func (t *Table) Reserve() (release func(), warning string) {
	if t.Dialect == sqldialect.SQLite {
		return func() {}, ""
	}
	return Reserve(t.db)
}

func (t *Table) inspect(ctx context.Context) (there bool, err error) {
	there, err = Inspect(ctx, t.db, t.Dialect, t.name)
	if there && err == nil {
		t.inspected.Store(true)
	}
	return there, err
}
