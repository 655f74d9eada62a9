package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/snowkey-go/snowkey/lease"
)

// A Store keeps leases in two tables of a database. [Postgres], [MySQL] and
// [SQLite] make one; the zero value answers every call with an error.
//
// A Store is safe for concurrent use, as the database is. It holds a connection
// only while a statement runs.
type Store struct {
	db      *sql.DB
	dialect *dialect
	table   string

	words atomic.Pointer[strings.Replacer] // nil until the server was asked
}

var _ lease.Store = (*Store)(nil)

// Postgres returns a store in the database of db, which is PostgreSQL 12 or later.
func Postgres(db *sql.DB) *Store { return &Store{db: db, dialect: postgres, table: defaultTable} }

// MySQL returns a store in the database of db, which is MySQL 8 or later, or
// MariaDB 10.6 or later.
func MySQL(db *sql.DB) *Store { return &Store{db: db, dialect: mysql, table: defaultTable} }

// SQLite returns a store in the database of db, which is SQLite 3.35 or later.
func SQLite(db *sql.DB) *Store { return &Store{db: db, dialect: sqlite, table: defaultTable} }

// WithTable returns a store of the same database whose tables are name and
// name_ns instead of snowkey_lease and snowkey_lease_ns. The name may begin with
// that of a schema or database, and a dot. Upper and lower case differ where the
// database knows a difference. A name that cannot be is a [*TableError].
func (s *Store) WithTable(name string) (*Store, error) {
	if !tableName.MatchString(name) {
		return nil, &TableError{name}
	}
	return &Store{db: s.db, dialect: s.dialect, table: name}, nil
}

// Migrate makes the tables, unless they are there already. Only then does it
// need the privilege to.
func (s *Store) Migrate(ctx context.Context) error {
	if _, err := s.learn(ctx); err != nil {
		return err
	}
	if s.queryRow(ctx, s.pool(), lookText, nil, new(int64)) == nil {
		return nil
	}
	for _, statement := range s.dialect.ddl {
		if _, err := s.exec(ctx, s.pool(), statement, nil); err != nil {
			return err
		}
	}
	return nil
}

// Layouts implements [lease.Store].
func (s *Store) Layouts(ctx context.Context, namespace string) ([]string, error) {
	return list(ctx, s, layoutsText, args{"namespace": namespace}, func(layout *string) []any { return []any{layout} })
}

// Found implements [lease.Store]. It looks for rows that are left in a statement
// of its own, because within the other that locks them all on MySQL. One that is
// added in between is not counted, and so not claimed before its birth is.
func (s *Store) Found(ctx context.Context, terms lease.Terms, seen int) error {
	var born int64
	if err := s.queryRow(ctx, s.pool(), leftText, args{}.with(terms), &born); err != nil {
		return err
	}
	_, err := s.exec(ctx, s.pool(), foundText, args{"seen": int64(seen), "born": born}.with(terms))
	return err
}

// Probe implements [lease.Store].
func (s *Store) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	var p lease.Probe
	var fingerprint, token, label sql.Null[string]
	var fence, born, worker, revision, bound, expires sql.Null[int64]
	err := s.queryRow(ctx, s.pool(), probeText,
		args{"min": q.Min, "max": q.Max, "prefer": q.Prefer}.with(q.Terms),
		&fence, &born, &fingerprint, &p.Current, &p.Volatile, &p.Now,
		&worker, &token, &revision, &bound, &expires, &label)
	if err != nil {
		return lease.Probe{}, err
	}
	p.OneClock = s.dialect.oneClock
	p.Founded, p.Fence, p.Born, p.Fingerprint = fingerprint.Valid, fence.V, born.V, fingerprint.V
	if p.Found = worker.Valid; p.Found {
		p.Free = lease.Row{
			Worker: worker.V, Token: token.V, Revision: revision.V,
			Bound: bound.V, Expires: expires.V, Label: label.V, Now: p.Now,
		}
	}
	return p, nil
}

// Fence implements [lease.Store].
func (s *Store) Fence(ctx context.Context, terms lease.Terms, seen string) error {
	_, err := s.exec(ctx, s.pool(), fenceText, args{"seen": seen}.with(terms))
	return err
}

// Bear implements [lease.Store]. It is the one method with a transaction, for it
// changes two tables.
func (s *Store) Bear(ctx context.Context, terms lease.Terms, min, max int64) error {
	if _, err := s.learn(ctx); err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: s.dialect.isolation})
	if err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	defer inTime(ctx, tx.Rollback)
	worker, ok, err := s.update(ctx, tx, countText, args{"min": min, "max": max}.with(terms))
	if !ok || err != nil {
		return err
	}
	if _, err := s.exec(ctx, tx, bearText, args{"worker": worker}.with(terms)); err != nil {
		return err
	}
	if err := inTime(ctx, tx.Commit); err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	return nil
}

// inTime returns when ctx ends, even if f does not: Commit and Rollback leave it to
// the driver how long they wait, and that of MySQL waits as long as the network.
func inTime(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Replace implements [lease.Store].
func (s *Store) Replace(ctx context.Context, terms lease.Terms, worker int64) error {
	_, err := s.exec(ctx, s.pool(), replaceText, args{"worker": worker}.with(terms))
	return err
}

// Claim implements [lease.Store].
func (s *Store) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	now, ok, err := s.updateRow(ctx, claimText, c.Seen,
		args{"token": c.Token, "fence": c.Fence, "bound": c.Seen.Bound, "label": c.Label, "wanted": c.Wanted}.with(c.Terms))
	if !ok || err != nil {
		return lease.Row{}, false, err
	}
	return granted(c.Seen, c.Token, c.Label, c.Wanted, c.Terms, now), true, nil
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	now, ok, err := s.updateRow(ctx, renewText, r.Held,
		args{"token": r.Token, "wanted": r.Wanted}.with(r.Terms))
	if !ok || err != nil {
		return lease.Row{}, false, err
	}
	return granted(r.Held, r.Token, r.Held.Label, r.Wanted, r.Terms, now), true, nil
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, r lease.Release) (bool, error) {
	_, ok, err := s.updateRow(ctx, releaseText, r.Held, args{"unused": r.Unused}.with(r.Terms))
	return ok, err
}

// granted is the row that was seen before, as a claim or renewal at now has
// left it. The statement has computed the same; it answers with its time alone
// because that is all that MySQL can answer an UPDATE with.
func granted(seen lease.Row, token, label string, wanted int64, terms lease.Terms, now int64) lease.Row {
	return lease.Row{
		Worker: seen.Worker, Token: token, Revision: seen.Revision + 1,
		Bound: max(seen.Bound, min(wanted, terms.Cap(now))), Expires: now + terms.TTL, Label: label, Now: now,
	}
}

// Rows implements [lease.Store].
func (s *Store) Rows(ctx context.Context, terms lease.Terms, min, max int64) ([]lease.Row, error) {
	return list(ctx, s, rowsText, args{"min": min, "max": max}.with(terms), func(r *lease.Row) []any {
		return []any{&r.Worker, &r.Token, &r.Revision, &r.Bound, &r.Expires, &r.Label, &r.Now}
	})
}

// list reads rows into what dest tells of each.
func list[T any](ctx context.Context, s *Store, text string, a args, dest func(*T) []any) ([]T, error) {
	query, values, err := s.prepare(ctx, text, a)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.QueryContext(ctx, query, values...)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		var t T
		if err := rows.Scan(dest(&t)...); err != nil {
			return nil, fmt.Errorf("sqlstore: %w", err)
		}
		list = append(list, t)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	return list, nil
}

// updateRow runs an UPDATE of one row that is as it was seen, and returns the
// store's time in it. It reports false only if certainly nothing has changed.
func (s *Store) updateRow(ctx context.Context, text string, seen lease.Row, a args) (now int64, ok bool, err error) {
	if _, err := s.learn(ctx); err != nil {
		return 0, false, err
	}
	a["worker"], a["seen"], a["revision"] = seen.Worker, seen.Token, seen.Revision
	now, ok, err = s.update(ctx, s.pool(), text, a)
	if ok && now <= 0 {
		return 0, false, errors.New("sqlstore: the server did not answer with the time; whatever changes its answers must leave LAST_INSERT_ID alone")
	}
	return now, ok, err
}

// conn is a *sql.DB or a *sql.Tx.
type conn interface {
	ExecContext(ctx context.Context, query string, values ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, values ...any) *sql.Row
}

// pool returns the database, of which a nil store has none.
func (s *Store) pool() conn {
	if s == nil {
		return nil
	}
	return s.db
}

// update runs an UPDATE that answers with a number. It reports false only if
// certainly nothing has changed.
func (s *Store) update(ctx context.Context, c conn, text string, a args) (answer int64, ok bool, err error) {
	if s.dialect.returning {
		err := s.queryRow(ctx, c, text, a, &answer)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, false, nil
		}
		return answer, err == nil, err
	}
	result, err := s.exec(ctx, c, text, a)
	if err != nil {
		return 0, false, err
	}
	changed, err := result.RowsAffected()
	if changed == 0 || err != nil {
		return 0, false, err
	}
	answer, err = result.LastInsertId()
	return answer, err == nil, err
}

func (s *Store) exec(ctx context.Context, c conn, text string, a args) (sql.Result, error) {
	query, values, err := s.prepare(ctx, text, a)
	if err != nil {
		return nil, err
	}
	result, err := c.ExecContext(ctx, query, values...)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	return result, nil
}

func (s *Store) queryRow(ctx context.Context, c conn, text string, a args, dest ...any) error {
	query, values, err := s.prepare(ctx, text, a)
	if err != nil {
		return err
	}
	// Scan closes the rows, and returns the error of a commit that fails after
	// the row was read. If ctx ends in between, the rows are closed behind its
	// back and that error is gone.
	if err := c.QueryRowContext(ctx, query, values...).Scan(dest...); err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	return ctx.Err()
}

// args are the values of parameters, int64 or string, by name.
type args map[string]any

// with adds the terms.
func (a args) with(t lease.Terms) args {
	a["namespace"], a["layout"] = t.Namespace, t.Layout
	a["epoch"], a["unit"], a["pertick"] = t.Epoch, t.Unit, t.PerTick
	a["ahead"], a["skew"], a["ttl"] = t.Ahead, t.Skew, t.TTL
	return a
}

var param = regexp.MustCompile(`@@?[a-z_]+`)

// prepare puts text into the dialect's words and numbers its parameters.
func (s *Store) prepare(ctx context.Context, text string, a args) (query string, values []any, err error) {
	words, err := s.learn(ctx)
	if err != nil {
		return "", nil, err
	}
	query = param.ReplaceAllStringFunc(words.Replace(text), func(name string) string {
		if name[1] == '@' {
			return name // a variable of MySQL's
		}
		value := a[name[1:]]
		values = append(values, value)
		_, text := value.(string)
		return s.dialect.param(len(values), text)
	})
	return query, values, nil
}

// learn returns the dialect's words. The first call that succeeds asks the
// server for what it can do.
func (s *Store) learn(ctx context.Context) (*strings.Replacer, error) {
	if s == nil || s.db == nil || s.dialect == nil {
		return nil, errors.New("sqlstore: there is no database; make the store by Postgres, MySQL or SQLite with an open *sql.DB")
	}
	if words := s.words.Load(); words != nil {
		return words, nil
	}
	var answer string
	if err := s.db.QueryRowContext(ctx, s.dialect.ask).Scan(&answer); err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	fingerprint, volatile := s.dialect.learn(answer)
	pairs := []string{
		"{lease}", quoted(s.table, s.dialect.quote), "{ns}", quoted(s.table+"_ns", s.dialect.quote),
		"{fingerprint}", fingerprint, "{volatile}", volatile,
	}
	for word, meaning := range s.dialect.words {
		pairs = append(pairs, word, meaning)
	}
	// Each may have those before it in it.
	for _, word := range [][2]string{{"{counter}", counterWord}, {"{cap}", capWord}, {"{beyond}", beyondWord}, {"{founding}", foundingWord}, {"{free}", freeWord}} {
		pairs = append(pairs, word[0], strings.NewReplacer(pairs...).Replace(word[1]))
	}
	words := strings.NewReplacer(pairs...)
	s.words.Store(words)
	return words, nil
}
