package segmentstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
)

// A Store keeps bounds in a table of a database. Use [Postgres], [MySQL] or [SQLite] to
// create one; the zero Store isn't valid.
//
// A Store is safe for concurrent use by any number of processes. On PostgreSQL, MySQL and
// MariaDB it keeps one connection of the *sql.DB to itself until its segments are closed,
// so that it can fetch when the application is using all the others.
type Store struct {
	table *sqlsession.Table
	fetch string // the statement of its dialect in fetch.sql
}

var _ segment.Store = (*Store)(nil)

const defaultTable = "snowkey_segment"

// Postgres returns a store in the database of db. It requires PostgreSQL 12 or later.
func Postgres(db *sql.DB) *Store { return newStore(db, sqldialect.Postgres) }

// MySQL returns a store in the database of db. It requires MySQL 8, MariaDB 10.6, or
// later.
func MySQL(db *sql.DB) *Store { return newStore(db, sqldialect.MySQL) }

// SQLite returns a store in the database of db. It requires SQLite 3.35 or later.
func SQLite(db *sql.DB) *Store { return newStore(db, sqldialect.SQLite) }

// files has the statements that create the table, in a file for each dialect, and those that
// fetch.
//
//go:embed *.sql
var files embed.FS

func newStore(db *sql.DB, d sqldialect.Dialect) *Store {
	fetches, _ := files.ReadFile("fetch.sql") // it is there
	fetch := sqldialect.Sections(string(fetches))[string(d)]
	return &Store{sqlsession.NewTable(db, d, defaultTable, files), strings.ReplaceAll(fetch, "{begin}", sqlsession.Begin)}
}

// WithTable returns a store in the same database that uses the table name instead of
// snowkey_segment. The name is up to 51 ASCII letters, digits and underscores, optionally
// preceded by a schema or database and a dot. Whether upper and lower case differ depends
// on the database.
func (s *Store) WithTable(name string) (*Store, error) {
	table, err := s.table.WithName(name)
	if err != nil {
		return nil, fmt.Errorf("segmentstore: %w", err)
	}
	return &Store{table, s.fetch}, nil
}

// Migrate creates the table if it doesn't exist yet, which is the only time it needs the
// privilege to do so. Many processes may call it at the same time. If the table does
// exist, Migrate checks it instead. It returns an error if the table has a different
// protocol version, a trigger, a rule, row-level security, or an engine other than
// InnoDB.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.table.Migrate(ctx); err != nil {
		return fmt.Errorf("segmentstore: %w", err)
	}
	return nil
}

// Fetch implements [segment.Store]. It returns once the grant has been committed. If
// Migrate hasn't been called, the first Fetch checks the table itself and returns the
// same errors.
func (s *Store) Fetch(ctx context.Context, f segment.Fetch) (start int64, err error) {
	start, ok, err := s.write(ctx, f)
	if err == nil && !ok {
		start, err = f.Limit, s.refusal(ctx, f.Name)
	}
	if err != nil {
		return 0, fmt.Errorf("segmentstore: %w", err)
	}
	return min(start, f.Limit), nil
}

// write runs a fetch. On SQLite it returns a BlockedError if another transaction keeps it
// from writing. That may be the caller's, which would wait for itself.
func (s *Store) write(ctx context.Context, f segment.Fetch) (start int64, ok bool, err error) {
	began := time.Now()
	start, ok, err = s.table.Write(ctx, s.fetch, map[string]any{
		"name": f.Name, "min": f.Min, "limit": f.Limit, "span": f.Span, "end": f.End(f.Min),
	})
	switch {
	case s.table.IsMySQL():
		ok = start >= 0
	case s.table.Dialect == sqldialect.SQLite && err != nil && (sqldialect.Busy(err) || errors.Is(ctx.Err(), context.DeadlineExceeded)):
		// A driver may not say why a statement took until the end of ctx.
		err = &segment.BlockedError{
			Cause:  fmt.Sprintf("another transaction had the write lock of SQLite for %v", time.Since(began).Round(time.Millisecond)),
			Remedy: "take the numbers before the transaction writes, or keep them in another file",
			Err:    err,
		}
	}
	return start, ok, err
}

// refusal returns an error if the row of a name has another protocol version.
func (s *Store) refusal(ctx context.Context, name string) error {
	db, err := s.table.DB(ctx)
	if err != nil {
		return err
	}
	var version int64
	query, values := s.table.Bind(s.table.Fill("SELECT protocol FROM {table} WHERE name = @name"), map[string]any{"name": name})
	err = sqlsession.Read(ctx, db, s.table.Dialect, sqlsession.Settings{}, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, query, values...).Scan(&version)
	})
	if err == nil && version != protocol.Version {
		err = &protocol.VersionError{Where: fmt.Sprintf("segment %q in the table %s", name, s.table.Name()), Found: strconv.FormatInt(version, 10)}
	}
	return err
}

// Reserve reserves a connection of the *sql.DB for the statements of all stores that use
// it, unless only one may be open. A [segment.Segment] calls it, and calls release when
// it's closed. On SQLite, which has one writer at a time, it does nothing.
func (s *Store) Reserve() (release func(), warning string) { return s.table.Reserve() }
