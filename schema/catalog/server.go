package catalog

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

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
