package sqltoken

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
	"github.com/snowkey-go/snowkey/token"
)

// A Store keeps sessions in a database table. Create one using [Postgres], [MySQL] or
// [SQLite]; the zero Store isn't valid.
//
// A Store is safe for concurrent use, including by any number of processes. It doesn't hold
// on to connections between calls.
type Store struct {
	table      *sqlsession.Table
	statements map[string]string // of all dialects, by their names in statements.sql
}

var _ token.Store = (*Store)(nil)

const defaultTable = "snowkey_session"

// Postgres returns a store using db. It requires PostgreSQL 12 or later.
func Postgres(db *sql.DB) *Store { return newStore(db, sqldialect.Postgres) }

// MySQL returns a store using db. It requires MySQL 8, MariaDB 10.6, or later.
func MySQL(db *sql.DB) *Store { return newStore(db, sqldialect.MySQL) }

// SQLite returns a store using db. It requires SQLite 3.35 or later.
func SQLite(db *sql.DB) *Store { return newStore(db, sqldialect.SQLite) }

// files has the statements, and a file for each dialect with the one that creates the table.
//
//go:embed *.sql
var files embed.FS

func newStore(db *sql.DB, d sqldialect.Dialect) *Store {
	text, _ := files.ReadFile("statements.sql") // it is there
	words := strings.NewReplacer("{begin}", sqlsession.Begin, "{to primary}", sqlsession.ToPrimary)
	return &Store{sqlsession.NewTable(db, d, defaultTable, files), sqldialect.Sections(words.Replace(string(text)))}
}

// WithTable returns a store in the same database that uses a table called name instead of
// snowkey_session. It may be qualified by a schema or database and a dot. Names are limited
// to 51 ASCII letters, digits and underscores.
func (s *Store) WithTable(name string) (*Store, error) {
	table, err := s.table.WithName(name)
	if err != nil {
		return nil, wrap(err)
	}
	return &Store{table, s.statements}, nil
}

// Migrate creates the table if it doesn't exist yet. An existing table is checked, and
// Migrate returns an error if it can't be used. The privilege to create tables is only
// needed if there's no table yet. Migrate may be called by many processes at the same time.
func (s *Store) Migrate(ctx context.Context) error { return wrap(s.table.Migrate(ctx)) }

// Add implements [token.Store].
func (s *Store) Add(ctx context.Context, t token.Token, user int64) error {
	if !t.Claim() {
		return token.ErrInvalid
	}
	added, err := s.write(ctx, "add", map[string]any{
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
	if t.Text() == "" {
		return 0, token.ErrInvalid
	}
	type session struct {
		user int64
		hash string
		seen int64 // ms since 1970
	}
	found, err := read(ctx, s, "user", map[string]any{"id": t.ID}, func(r *session) []any { return []any{&r.user, &r.hash, &r.seen} })
	if err != nil {
		return 0, wrap(err)
	}
	if len(found) == 0 {
		return 0, token.ErrEnded
	}
	row := found[0]
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
		if _, err := s.write(ctx, "touch", map[string]any{"id": t.ID, "seen": t.Seen.UnixMilli()}); err != nil {
			return 0, wrap(err)
		}
	}
	return row.user, nil
}

// Sessions implements [token.Store].
func (s *Store) Sessions(ctx context.Context, user int64) ([]int64, error) {
	ids, err := read(ctx, s, "sessions", map[string]any{"user": user}, func(id *int64) []any { return []any{id} })
	return ids, wrap(err)
}

// Revoke implements [token.Store].
func (s *Store) Revoke(ctx context.Context, user, id int64) error {
	_, err := s.write(ctx, "revoke", map[string]any{"user": user, "id": id})
	return wrap(err)
}

// RevokeUser implements [token.Store].
func (s *Store) RevokeUser(ctx context.Context, user int64) error {
	_, err := s.write(ctx, "revoke user", map[string]any{"user": user})
	return wrap(err)
}

// Cleanup deletes sessions that expired more than a minute before now, oldest expiry first,
// in batches of 1,000. It should be called regularly with time.Now(), in one process or in
// several. (The minute is there to allow for clock differences between processes.) If ctx
// ends early, the next call will pick up where this one left off.
func (s *Store) Cleanup(ctx context.Context, now time.Time) error {
	before := now.Add(-time.Minute).UnixMilli()
	for {
		more, err := s.write(ctx, "cleanup", map[string]any{"before": before})
		if !more || err != nil {
			return wrap(err)
		}
	}
}

// write runs one of the statements with these values.
func (s *Store) write(ctx context.Context, name string, values map[string]any) (changed bool, err error) {
	text := s.statement(name)
	err = sqlsession.Again(ctx, sqldialect.Conflict, func() error {
		var answer int64
		answer, changed, err = s.table.Write(ctx, text, values)
		if s.table.Dialect == sqldialect.Postgres {
			changed = answer > 0
		}
		return err
	})
	if sqldialect.Number(err) == duplicateKey {
		return false, nil
	}
	return changed, err
}

const duplicateKey = 1062 // of MySQL

func (s *Store) statement(name string) string { return s.statements[string(s.table.Dialect)+": "+name] }

// read returns the rows of a statement whose last column says whether autocommit is on. On
// MySQL it reads again if it may not have seen which sessions were added or revoked.
func read[T any](ctx context.Context, s *Store, name string, values map[string]any, dest func(*T) []any) (found []T, err error) {
	db, err := s.table.DB(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	query, args := s.table.Bind(s.table.Fill(s.statement(name)), values)
	autocommit := !s.table.IsMySQL()
	list := func() ([]T, error) {
		return sqlsession.List(ctx, conn, query, args, func(t *T) []any { return append(dest(t), &autocommit) })
	}
	if found, err = list(); autocommit || err != nil {
		return found, err
	}
	// With autocommit off, or if there are no rows that say so, the connection may be in a
	// transaction that began with an earlier read. We end that transaction, and ours.
	const end = "ROLLBACK AND NO CHAIN NO RELEASE"
	if _, err := conn.ExecContext(ctx, end); err != nil {
		return nil, err
	}
	found, err = list()
	if _, ended := conn.ExecContext(ctx, end); ended != nil {
		return nil, ended
	}
	return found, err
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqltoken: %w", err)
}
