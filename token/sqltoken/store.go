package sqltoken

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
	"github.com/snowkey-go/snowkey/token"
)

// A Store keeps sessions in a table of a database. Use [Postgres], [MySQL] or [SQLite] to
// create one. The methods of the zero Store return an error.
//
// A Store is safe for concurrent use by any number of processes. It only holds a
// connection while it reads or writes.
type Store struct {
	dialect *dialect
	table   *sqlsession.Table
}

var _ token.Store = (*Store)(nil)

const defaultTable = "snowkey_session"

// Postgres returns a store in the database of db, which must be PostgreSQL 12 or later.
func Postgres(db *sql.DB) *Store { return newStore(db, postgres) }

// MySQL returns a store in the database of db, which must be MySQL 8 or later, or MariaDB
// 10.6 or later.
func MySQL(db *sql.DB) *Store { return newStore(db, mysql) }

// SQLite returns a store in the database of db, which must be SQLite 3.35 or later.
func SQLite(db *sql.DB) *Store { return newStore(db, sqlite) }

func newStore(db *sql.DB, d *dialect) *Store {
	return &Store{d, sqlsession.NewTable(db, d.Dialect, defaultTable)}
}

// A TableNameError is returned for a name that is not a valid table name.
type TableNameError = sqlsession.TableNameError

// A TableError is returned if the table is not suitable for sessions.
type TableError = sqlsession.TableError

// A VersionError is returned if the table was created by another version of Snowkey that
// uses a different protocol.
type VersionError = protocol.VersionError

// A SessionError is returned if a write is impossible because all connections of the
// *sql.DB that were tried had an open transaction.
type SessionError = sqlsession.Error

// WithTable returns a store in the same database that uses the table name instead of
// snowkey_session. The name may be qualified by a schema or database and a dot. The error
// is a [*TableNameError].
func (s *Store) WithTable(name string) (*Store, error) {
	if s == nil {
		return nil, wrap(sqlsession.ErrNoDatabase)
	}
	table, err := s.table.WithName(name)
	if err != nil {
		return nil, wrap(err)
	}
	return &Store{s.dialect, table}, nil
}

// Migrate creates the table if it doesn't exist yet, and only needs the privilege to create
// tables in that case. Many processes may call Migrate at the same time. If the table does
// exist, Migrate checks it, and returns a [*VersionError] or a [*TableError] if it can't be
// used.
func (s *Store) Migrate(ctx context.Context) error {
	if s == nil || s.dialect == nil {
		return wrap(sqlsession.ErrNoDatabase)
	}
	return wrap(s.table.Migrate(ctx, s.dialect.ddl))
}

// Add implements [token.Store].
func (s *Store) Add(ctx context.Context, t token.Token, user int64) error {
	db, err := s.ready(ctx)
	if err != nil {
		return wrap(err)
	}
	if !t.Claim() {
		return token.ErrInvalid
	}
	added, err := s.write(ctx, db, s.dialect.add, map[string]any{
		"id": t.ID, "user": user, "hash": t.Hash(), "seen": t.Seen.UnixMilli(), "expires": t.Expires.UnixMilli(),
	})
	if err == nil && !added {
		return token.ErrInvalid
	}
	return wrap(err)
}

// touches is how often the time of use is written while a session may be idle.
const touches = 8

// User implements [token.Store].
func (s *Store) User(ctx context.Context, t token.Token) (int64, error) {
	db, err := s.ready(ctx)
	if err != nil {
		return 0, wrap(err)
	}
	if t.Text() == "" {
		return 0, token.ErrInvalid
	}
	row, err := s.read(ctx, db, t.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, token.ErrEnded
	}
	if err != nil {
		return 0, wrap(err)
	}
	if subtle.ConstantTimeCompare([]byte(row.hash), []byte(t.Hash())) == 0 {
		return 0, token.ErrInvalid
	}
	idle := t.Seen.Sub(time.UnixMilli(row.seen))
	switch {
	case t.Idle == 0:
	case idle >= t.Idle:
		// Otherwise a process whose clock is behind might still accept the session.
		if err := s.Revoke(ctx, row.user, t.ID); err != nil {
			return 0, err
		}
		return 0, token.ErrEnded
	case idle >= t.Idle/touches:
		if _, err := s.write(ctx, db, s.dialect.touch, map[string]any{"id": t.ID, "seen": t.Seen.UnixMilli()}); err != nil {
			return 0, wrap(err)
		}
	}
	return row.user, nil
}

// Sessions implements [token.Store].
func (s *Store) Sessions(ctx context.Context, user int64) (ids []int64, err error) {
	db, err := s.ready(ctx)
	if err != nil {
		return nil, wrap(err)
	}
	query, args := s.dialect.Bind(s.table.Fill(s.dialect.sessions), map[string]any{"user": user})
	err = s.fresh(ctx, db, func(q querier) (autocommit bool, err error) {
		ids, autocommit = nil, false
		rows, err := q.QueryContext(ctx, query, args...)
		if err != nil {
			return false, err
		}
		defer rows.Close()
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id, &autocommit); err != nil {
				return false, err
			}
			ids = append(ids, id)
		}
		return autocommit, rows.Err()
	})
	return ids, wrap(err)
}

// Revoke implements [token.Store].
func (s *Store) Revoke(ctx context.Context, user, id int64) error {
	return s.remove(ctx, func(d *dialect) string { return d.revoke }, map[string]any{"user": user, "id": id})
}

// RevokeUser implements [token.Store].
func (s *Store) RevokeUser(ctx context.Context, user int64) error {
	return s.remove(ctx, func(d *dialect) string { return d.revokeUser }, map[string]any{"user": user})
}

// batch is how many sessions one statement of Cleanup deletes.
const batch = 1000

// Cleanup deletes the sessions that had expired a minute before now, 1,000 per statement,
// starting with those that expired first. Call it regularly, in one process or in several,
// with time.Now(). The minute is there because the clocks of two processes may differ. If
// ctx ends first, the rest remains for the next call.
func (s *Store) Cleanup(ctx context.Context, now time.Time) error {
	db, err := s.ready(ctx)
	before := now.Add(-time.Minute).UnixMilli()
	for more := err == nil; more && err == nil; {
		more, err = s.write(ctx, db, s.dialect.cleanup, map[string]any{"before": before, "batch": int64(batch)})
	}
	return wrap(err)
}

func (s *Store) remove(ctx context.Context, statement func(*dialect) string, values map[string]any) error {
	db, err := s.ready(ctx)
	if err == nil {
		_, err = s.write(ctx, db, statement(s.dialect), values)
	}
	return wrap(err)
}

type row struct {
	user int64
	hash string
	seen int64 // ms since 1970
}

func (s *Store) read(ctx context.Context, db *sql.DB, id int64) (r row, err error) {
	query, args := s.dialect.Bind(s.table.Fill(s.dialect.user), map[string]any{"id": id})
	err = s.fresh(ctx, db, func(q querier) (autocommit bool, err error) {
		r = row{}
		err = q.QueryRowContext(ctx, query, args...).Scan(&r.user, &r.hash, &r.seen, &autocommit)
		return autocommit, err
	})
	return r, err
}

// A querier is a *sql.DB or a *sql.Conn.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// fresh calls read, and again if it may not have seen which sessions were added or revoked.
// The read returns whether a row says that autocommit is on.
func (s *Store) fresh(ctx context.Context, db *sql.DB, read func(querier) (autocommit bool, err error)) error {
	if s.dialect.Dialect != sqlsession.MySQL {
		_, err := read(db)
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	autocommit, err := read(conn)
	if err == nil && autocommit || err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	// With autocommit off, the connection may be in a transaction that began with an
	// earlier read. We end that transaction, and ours.
	const end = "ROLLBACK AND NO CHAIN NO RELEASE"
	if _, err := conn.ExecContext(ctx, end); err != nil {
		return err
	}
	_, err = read(conn)
	if _, ended := conn.ExecContext(ctx, end); ended != nil {
		return ended
	}
	return err
}

func (s *Store) ready(ctx context.Context) (*sql.DB, error) {
	if s == nil || s.dialect == nil {
		return nil, sqlsession.ErrNoDatabase
	}
	return s.table.Ready(ctx)
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqltoken: %w", err)
}
