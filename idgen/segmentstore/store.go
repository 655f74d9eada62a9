package segmentstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
)

// A Store keeps bounds in a table of a database. [Postgres], [MySQL] and [SQLite]
// make one; the zero value answers every call with an error.
//
// A Store is safe for concurrent use, as the database is. It holds a connection
// only while a statement runs.
type Store struct {
	db      *sql.DB
	dialect *dialect
	table   string // quoted

	fetch  string   // the statement
	params []string // the names of its parameters, in order
}

var _ idgen.SegmentStore = (*Store)(nil)

const defaultTable = "snowkey_segment"

// Postgres returns a store in the database of db, which is PostgreSQL 12 or later.
func Postgres(db *sql.DB) *Store { return newStore(db, postgres, defaultTable) }

// MySQL returns a store in the database of db, which is MySQL 8 or later, or
// MariaDB 10.6 or later.
func MySQL(db *sql.DB) *Store { return newStore(db, mysql, defaultTable) }

// SQLite returns a store in the database of db, which is SQLite 3.35 or later.
func SQLite(db *sql.DB) *Store { return newStore(db, sqlite, defaultTable) }

var param = regexp.MustCompile(`@[a-z]+`)

func newStore(db *sql.DB, d *dialect, table string) *Store {
	s := &Store{db: db, dialect: d, table: d.quote + strings.ReplaceAll(table, ".", d.quote+"."+d.quote) + d.quote}
	s.fetch = param.ReplaceAllStringFunc(s.name(d.fetch), func(name string) string {
		s.params = append(s.params, name)
		return d.param(len(s.params), name == "@name")
	})
	return s
}

// name puts the table's name into a statement.
func (s *Store) name(statement string) string {
	return strings.ReplaceAll(statement, "{table}", s.table)
}

var tableName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,50}\.)?[A-Za-z_][A-Za-z0-9_]{0,50}$`)

// A TableError says that a table's name is refused. Such names can have ASCII
// letters, digits and underscores, 51 at most, and a schema's or database's name
// with a dot before them.
type TableError struct {
	Name string
}

func (e *TableError) Error() string {
	return fmt.Sprintf("segmentstore: %.120q cannot name a table of segments; use up to 51 letters, digits and underscores, after a schema's name and a dot if need be", e.Name)
}

// WithTable returns a store of the same database whose table is name instead of
// snowkey_segment. The name may begin with that of a schema or database, and a
// dot. Upper and lower case differ where the database knows a difference. A name
// that cannot be is a [*TableError].
func (s *Store) WithTable(name string) (*Store, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if !tableName.MatchString(name) {
		return nil, &TableError{name}
	}
	return newStore(s.db, s.dialect, name), nil
}

// Migrate makes the table, unless it is there already. Only then does it need
// the privilege to. Many processes may call it at once.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	var none int
	if s.db.QueryRowContext(ctx, s.name("SELECT COUNT(*) FROM {table} WHERE 1 = 0")).Scan(&none) == nil {
		return nil
	}
	if _, err := s.db.ExecContext(ctx, s.name(s.dialect.ddl)); err != nil {
		return fmt.Errorf("segmentstore: %w", err)
	}
	return nil
}

// Fetch implements [idgen.SegmentStore].
func (s *Store) Fetch(ctx context.Context, f idgen.SegmentFetch) (start int64, err error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	of := map[string]any{"@name": f.Name, "@min": f.Min, "@limit": f.Limit, "@span": f.Span, "@end": f.End(f.Min)}
	values := make([]any, len(s.params))
	for i, name := range s.params {
		values[i] = of[name]
	}
	if start, err = s.ask(ctx, values); errors.Is(err, sql.ErrNoRows) {
		return f.Limit, nil
	}
	if err != nil {
		return 0, fmt.Errorf("segmentstore: %w", err)
	}
	return min(start, f.Limit), nil
}

func (s *Store) ask(ctx context.Context, values []any) (start int64, err error) {
	if s.dialect.returning {
		// Scan closes the rows, and returns the error of a commit that fails after
		// the row was read. If ctx ends in between, the rows are closed behind its
		// back and that error is gone.
		if err := s.db.QueryRowContext(ctx, s.fetch, values...).Scan(&start); err != nil {
			return 0, err
		}
		return start, ctx.Err()
	}
	result, err := s.db.ExecContext(ctx, s.fetch, values...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

func (s *Store) check() error {
	if s == nil || s.db == nil || s.dialect == nil {
		return errors.New("segmentstore: there is no database; make the store by Postgres, MySQL or SQLite with an open *sql.DB")
	}
	return nil
}
