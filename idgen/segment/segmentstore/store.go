package segmentstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
)

// A Store keeps bounds in a table of a database. Use [Postgres], [MySQL] or [SQLite] to
// create one. The methods of the zero Store return an error.
//
// A Store is safe for concurrent use by any number of processes. On PostgreSQL, MySQL and
// MariaDB it keeps one connection of the *sql.DB for itself until its segments are closed,
// so that it can fetch while the application uses all others.
type Store struct {
	dialect *dialect
	table   *sqlsession.Table
	fetch   string // the fetch statement of the dialect, with the names filled in
}

var _ segment.Store = (*Store)(nil)

const defaultTable = "snowkey_segment"

// Postgres returns a store in the database of db, which must be PostgreSQL 12 or later.
func Postgres(db *sql.DB) *Store {
	return newStore(postgres, sqlsession.NewTable(db, sqlsession.Postgres, defaultTable))
}

// MySQL returns a store in the database of db, which must be MySQL 8 or later, or
// MariaDB 10.6 or later.
func MySQL(db *sql.DB) *Store {
	return newStore(mysql, sqlsession.NewTable(db, sqlsession.MySQL, defaultTable))
}

// SQLite returns a store in the database of db, which must be SQLite 3.35 or later.
func SQLite(db *sql.DB) *Store {
	return newStore(sqlite, sqlsession.NewTable(db, sqlsession.SQLite, defaultTable))
}

func newStore(d *dialect, table *sqlsession.Table) *Store {
	return &Store{d, table, table.Fill(d.fetch)}
}

// A TableNameError is returned for a name that is not a valid table name.
type TableNameError = sqlsession.TableNameError

// WithTable returns a store in the same database that uses the table name instead of
// snowkey_segment. The name may be qualified by a schema or database and a dot. Whether
// upper and lower case differ depends on the database. The error is a
// [*TableNameError].
func (s *Store) WithTable(name string) (*Store, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	table, err := s.table.WithName(name)
	if err != nil {
		return nil, err
	}
	return newStore(s.dialect, table), nil
}

// Migrate creates the table if it doesn't exist yet, and only needs the privilege to
// create tables in that case. Many processes may call Migrate at the same time. If the
// table does exist, Migrate checks it. It returns a [*VersionError] if the table has
// another protocol version, and a [*TableError] if it has a trigger, a rule, row-level
// security, or an engine other than InnoDB.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.table.Migrate(ctx, s.dialect.ddl); err != nil {
		return fmt.Errorf("segmentstore: %w", err)
	}
	return nil
}

// A VersionError is returned if the table was created by another version of Snowkey
// that uses a different protocol. This version must not write to it.
type VersionError = protocol.VersionError

// A TableError is returned if the table is not suitable for segments.
type TableError = sqlsession.TableError

// A SessionError is returned if a write is impossible because all connections of the
// *sql.DB that were tried had an open transaction.
type SessionError = sqlsession.Error

// Fetch implements [segment.Store]. It returns once the grant has been committed. If
// Migrate has not been called, the first Fetch checks the table in its place, and
// returns the same errors.
func (s *Store) Fetch(ctx context.Context, f segment.Fetch) (start int64, err error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	db, err := s.table.Ready(ctx)
	if err != nil {
		return 0, fmt.Errorf("segmentstore: %w", err)
	}
	mark := rand.Text()
	query, values := s.table.Bind(s.fetch, map[string]any{
		"name": f.Name, "min": f.Min, "limit": f.Limit, "span": f.Span, "end": f.End(f.Min),
		"mark": mark, "patience": sqlsession.Patience(ctx),
	})
	start, ok, err := s.dialect.write(ctx, db, mark, query, values)
	if err != nil {
		return 0, fmt.Errorf("segmentstore: %w", err)
	}
	if ok {
		return min(start, f.Limit), nil
	}
	if err := s.refusal(ctx, db, f.Name); err != nil {
		return 0, err
	}
	return f.Limit, nil
}

// refusal returns an error if the row of a name has another protocol version.
func (s *Store) refusal(ctx context.Context, db *sql.DB, name string) error {
	var version int64
	query, values := s.table.Bind(s.table.Fill("SELECT protocol FROM {table} WHERE name = @name"), map[string]any{"name": name})
	err := s.table.Read(ctx, db, sqlsession.Settings{}, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, query, values...).Scan(&version)
	})
	if err != nil {
		return fmt.Errorf("segmentstore: %w", err)
	}
	if version != protocol.Version {
		return fmt.Errorf("segmentstore: %w", &VersionError{Where: fmt.Sprintf("segment %q in the table %s", name, s.table.Name()), Found: strconv.FormatInt(version, 10)})
	}
	return nil
}

// Reserve reserves a connection of the *sql.DB for the statements of all stores that use
// it, unless it may open only one. A [segment.Segment] calls it, and release when it is
// closed. On SQLite, which has one writer at a time, it does nothing.
func (s *Store) Reserve() (release func(), warning string) {
	if s.check() != nil || s.dialect == sqlite {
		return func() {}, ""
	}
	db, _ := s.table.DB()
	return sqlsession.Reserve(db)
}

func (s *Store) check() error {
	if s == nil {
		return fmt.Errorf("segmentstore: %w", sqlsession.ErrNoDatabase)
	}
	if _, err := s.table.DB(); err != nil {
		return fmt.Errorf("segmentstore: %w", err)
	}
	return nil
}
