package autoinc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// Options say what [Inspect] looks at. The zero value is usual.
type Options struct {
	// Dialect is the kind of server. Defaults to what the server says.
	Dialect Dialect

	// Schemas are those whose keys are reported, by their exact names; on MySQL
	// they are databases, on SQLite main and what is attached. What uses a key is
	// reported wherever it is. Defaults to all but the system's own, on MySQL to
	// the database of the connection if it has one.
	Schemas []string
}

// Inspect reads the catalog of db and reports every auto-increment key in it. It
// changes nothing, and uses one connection for as long as it takes. Concurrent
// calls are safe, as the database is.
//
// Errors are [*DialectError], [*SchemaError], or wrap the driver's. What the
// account may not see is no error but a finding, [Unseen].
func Inspect(ctx context.Context, db *sql.DB, options Options) (Report, error) {
	if db == nil {
		return Report{}, errors.New("autoinc: there is no database; pass an open *sql.DB")
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("autoinc: %w", err)
	}
	defer conn.Close()
	report, _, err := inspectConn(ctx, conn, options)
	return report, err
}

// inspectConn is Inspect over one connection.
func inspectConn(ctx context.Context, conn *sql.Conn, options Options) (Report, server, error) {
	server, err := identify(ctx, conn, options.Dialect)
	if err != nil {
		return Report{}, server, err
	}
	c, err := server.read(ctx, conn, options.Schemas)
	if err != nil {
		return Report{}, server, err
	}
	schemas := c.inspected
	if len(options.Schemas) > 0 {
		schemas = options.Schemas
	}
	for _, name := range schemas {
		if !slices.Contains(c.schemas, name) {
			return Report{}, server, &SchemaError{Name: name, Schemas: c.schemas}
		}
	}
	report := Report{Dialect: server.dialect, Version: server.version, Schemas: schemas, Findings: c.unseen}
	report.Keys = c.assemble(schemas)
	for i := range report.Keys {
		server.judge(&report.Keys[i])
	}
	return report, server, nil
}

// A SchemaError says that a schema of [Options.Schemas] is not there, or not for
// this account.
type SchemaError struct {
	Name    string
	Schemas []string // those that are there
}

func (e *SchemaError) Error() string {
	const most = 10
	shown, more := e.Schemas, ""
	if len(shown) > most {
		shown, more = shown[:most], " and others"
	}
	return fmt.Sprintf("autoinc: there is no schema %q that this account may see; there are %q%s", e.Name, shown, more)
}

// querier is a *sql.Conn or a *sql.Tx.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// list reads rows into what dest tells of each.
func list[T any](ctx context.Context, q querier, query string, dest func(*T) []any, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("autoinc: reading the catalog: %w", err)
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		var t T
		if err := rows.Scan(dest(&t)...); err != nil {
			return nil, fmt.Errorf("autoinc: reading the catalog: %w", err)
		}
		list = append(list, t)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("autoinc: reading the catalog: %w", err)
	}
	return list, nil
}

// one reads the single row of a query.
func one[T any](ctx context.Context, q querier, query string, dest func(*T) []any, args ...any) (T, error) {
	rows, err := list(ctx, q, query, dest, args...)
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("autoinc: reading the catalog: %d rows where there should be one; inspect again, the database has changed meanwhile", len(rows))
	}
	if err != nil {
		return *new(T), err
	}
	return rows[0], nil
}

func text(s *string) []any { return []any{s} }
