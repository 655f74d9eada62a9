package segmentstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
)

// A Store keeps bounds in a table of a database. Use [Postgres], [MySQL] or [SQLite] to
// create one; the zero Store isn't valid.
//
// A Store is safe for concurrent use by any number of processes.
type Store struct{ table *sqlsession.Table }

var _ segment.Store = (*Store)(nil)

// Postgres returns a store in the database of db. It requires PostgreSQL 12 or later.
func Postgres(db *sql.DB) *Store { return newStore(db, sqldialect.Postgres) }

// MySQL returns a store in the database of db. It requires MySQL 8, MariaDB 10.6, or
// later.
func MySQL(db *sql.DB) *Store { return newStore(db, sqldialect.MySQL) }

// SQLite returns a store in the database of db. It requires SQLite 3.35 or later.
func SQLite(db *sql.DB) *Store { return newStore(db, sqldialect.SQLite) }

func newStore(db *sql.DB, d sqldialect.Dialect) *Store {
	return &Store{sqlsession.NewTable(db, d, "snowkey_segment", ddl)}
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
	return &Store{table}, nil
}

// Migrate creates the table if it doesn't exist yet, which is the only time it needs the
// privilege to do so, and otherwise checks it. Many processes may call it at the same time.
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
	start, ok, err = s.table.Write(ctx, fetches[s.table.Dialect], map[string]any{
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
// it. A [segment.Segment] calls it, and calls release when it's closed.
func (s *Store) Reserve() (release func(), warning string) { return s.table.Reserve() }

// ddl has the statements that create the table, in a file for each dialect.
//
//go:embed *.sql
var ddl embed.FS

// fetches has the statements that read and raise the bound. {table} stands for the table,
// @min, @limit and @span for the fields of segment.Fetch, and @end for the bound of a new
// name. @limit may be the largest integer, so no expression may exceed it.
//
// The answer is the start of the segment. There is none, or on MySQL -1, if the row has
// another protocol version. If there are no numbers left, there is none either, or it is
// at least the limit.
var fetches = map[sqldialect.Dialect]string{
	sqldialect.Postgres: sqlsession.Begin + `)
INSERT INTO {table} AS segment (name, start, bound) SELECT @name, @min, @end FROM here
ON CONFLICT (name) DO UPDATE SET
	start = GREATEST(segment.bound, @min),
	bound = GREATEST(segment.bound, @min) + LEAST(@span, @limit - GREATEST(segment.bound, @min))
WHERE GREATEST(segment.bound, @min) < @limit AND segment.protocol = {protocol}
RETURNING start`,

	// MySQL assigns from left to right, so we must not read a column after assigning
	// it. The first comment is only executed by MariaDB. MySQL has no way to limit the
	// wait for a row in a single statement.
	sqldialect.MySQL: `/*M! SET STATEMENT innodb_lock_wait_timeout = @seconds FOR */ INSERT INTO {table} (name, start, bound) VALUES (@name, LAST_INSERT_ID(@min), @end)
ON DUPLICATE KEY UPDATE
	start = IF(protocol = {protocol}, LAST_INSERT_ID(GREATEST(bound, @min)), start + 0 * LAST_INSERT_ID(-1)),
	bound = IF(protocol = {protocol}, GREATEST(bound, @min) + GREATEST(LEAST(@span, @limit - GREATEST(bound, @min)), 0), bound)`,

	sqldialect.SQLite: `INSERT INTO {table} (name, start, bound) VALUES (@name, @min, @end)
ON CONFLICT (name) DO UPDATE SET
	start = MAX(bound, @min),
	bound = MAX(bound, @min) + MIN(@span, @limit - MAX(bound, @min))
WHERE MAX(bound, @min) < @limit AND protocol = {protocol}
RETURNING start`,
}
