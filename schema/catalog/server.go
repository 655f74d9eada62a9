package catalog

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A Dialect is a kind of database server: [Postgres], [MySQL], [MariaDB] or
// [SQLite].
type Dialect = sqldialect.Dialect

const (
	Postgres = sqldialect.Postgres
	MySQL    = sqldialect.MySQL
	MariaDB  = sqldialect.MariaDB
	SQLite   = sqldialect.SQLite
)

// ErrDialect is returned for a server whose kind or version isn't supported.
var ErrDialect = database.ErrDialect

// A server reads the catalog of a database server.
type server struct{ database.Server }

//go:embed *.sql
var queries embed.FS

func (s server) query(name string) string { return s.Query(queries, name) }

func (s server) name(n Name) string { return s.Path(n.Schema, n.Name) }

func (s server) column(c Column) string { return s.Path(c.Table.Schema, c.Table.Name, c.Name) }

// read returns the catalog. wanted has the schemas that the caller chose, if any. Without
// counters, it may leave out their current values.
func (s server) read(ctx context.Context, conn *sql.Conn, wanted []string, counters bool) (*catalog, error) {
	switch s.Dialect {
	case Postgres:
		return s.readPostgres(ctx, conn, counters)
	case SQLite:
		return s.readSQLite(ctx, conn)
	}
	return s.readMySQL(ctx, conn, wanted)
}

// widen says how to make a column 64 bits wide.
func (s server) widen(c Column) string {
	name, table := s.Quote(c.Name), s.name(c.Table)
	switch s.Dialect {
	case Postgres:
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE bigint rewrites the table and locks out readers and writers meanwhile; to avoid that, fill a new column of type bigint in batches and swap the two", table, name)
	case SQLite:
		return fmt.Sprintf("rebuild %s with %s as BIGINT", table, name)
	}
	bigint := "BIGINT"
	if c.Unsigned {
		bigint = "BIGINT UNSIGNED"
	}
	return fmt.Sprintf("drop every foreign key between this key and its children, MODIFY %s of %s and all of the others to %s, repeating NOT NULL, COMMENT and the other attributes, and add the foreign keys again; writers wait meanwhile", name, table, bigint)
}

// These are destinations for the columns of a query, see [database.List].

func (c *Column) path() []any { return []any{&c.Table.Schema, &c.Table.Name, &c.Name} }

// dest is for a column with its type, and for the type again, which is that below a domain.
func (c *Column) dest(d Dialect) []any {
	return append(c.path(), &c.Type, database.ScanType(d, &c.Bits, &c.Unsigned, &c.Text))
}

func (t *Trigger) dest() []any { return []any{&t.Table.Schema, &t.Table.Name, &t.Name, &t.When} }

func linkDest(d Dialect) func(*link) []any {
	return func(l *link) []any {
		return slices.Concat([]any{&l.constraint, &l.Name}, l.Child.dest(d), l.Parent.dest(d),
			[]any{&l.whole.OnUpdate, &l.whole.OnDelete, &l.whole.Match, &l.whole.Detail, &l.whole.Valid})
	}
}

// Identify returns the dialect of the server that db is connected to. Its errors wrap
// [ErrDialect] or the driver's error.
func Identify(ctx context.Context, db *sql.DB) (Dialect, error) {
	var found Dialect
	err := withConn(ctx, db, func(conn *sql.Conn) error {
		s, err := database.Identify(ctx, conn)
		found = s.Dialect
		return err
	})
	return found, err
}

// withConn calls f with a connection from db, which it closes afterwards.
func withConn(ctx context.Context, db *sql.DB, f func(*sql.Conn) error) error {
	if db == nil {
		return errors.New("catalog: there is no database; pass an open *sql.DB")
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	defer conn.Close()
	return f(conn)
}
