package sqlsession

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"

	"github.com/snowkey-go/snowkey/internal/protocol"
)

// A Table is a table of a store in the application's database. It is safe for concurrent
// use. The methods of the zero Table return [ErrNoDatabase].
type Table struct {
	Dialect
	db   *sql.DB
	name string // not quoted

	inspected atomic.Bool // whether the table was checked and is usable
}

// NewTable returns a table, whose name must have passed [CheckName].
func NewTable(db *sql.DB, d Dialect, name string) *Table {
	return &Table{Dialect: d, db: db, name: name}
}

// DB returns the database, or [ErrNoDatabase].
func (t *Table) DB() (*sql.DB, error) {
	if t == nil || t.db == nil {
		return nil, ErrNoDatabase
	}
	return t.db, nil
}

// WithName returns the table called name in the same database. The error is a
// [*TableNameError] if that can't be the name of a table.
func (t *Table) WithName(name string) (*Table, error) {
	if _, err := t.DB(); err != nil {
		return nil, err
	}
	if err := CheckName(name); err != nil {
		return nil, err
	}
	return NewTable(t.db, t.Dialect, name), nil
}

// Name returns the name without quotes.
func (t *Table) Name() string { return t.name }

// Fill inserts the quoted name in place of {table}, and the protocol version in place of
// {protocol}.
func (t *Table) Fill(statement string) string {
	return strings.NewReplacer("{table}", t.Quote(t.name), "{protocol}", protocol.Known()).Replace(statement)
}

// Migrate creates the table with the statement ddl if it does not exist. Otherwise it
// returns the errors of [Dialect.Inspect].
func (t *Table) Migrate(ctx context.Context, ddl string) error {
	db, err := t.DB()
	if err != nil {
		return err
	}
	there, err := t.inspect(ctx)
	if there || err != nil {
		return err
	}
	return t.Create(ctx, db, t.Fill(ddl))
}

// Ready inspects the table at the first call, and until it has found a usable table. It
// returns no error if there is no table, since the statement that follows does.
func (t *Table) Ready(ctx context.Context) (*sql.DB, error) {
	db, err := t.DB()
	if err == nil && !t.inspected.Load() {
		_, err = t.inspect(ctx)
	}
	return db, err
}

func (t *Table) inspect(ctx context.Context) (there bool, err error) {
	there, err = t.Inspect(ctx, t.db, t.name)
	if there && err == nil {
		t.inspected.Store(true)
	}
	return there, err
}
