package dbtest

import (
	"context"
	"database/sql"
	"strings"
)

// Exec executes statements on a database, a connection or a transaction.
func Exec(t TB, conn interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := conn.ExecContext(context.Background(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// Rows returns what a query reads, with one line for each row. The columns are joined
// with spaces, and an SQL NULL becomes NULL.
func Rows(t TB, conn interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, query string) (lines []string) {
	t.Helper()
	rows, err := conn.QueryContext(context.Background(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns := Must(rows.Columns())(t)
	for rows.Next() {
		words, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range words {
			into[i] = &words[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		line := make([]string, len(columns))
		for i, word := range words {
			if line[i] = "NULL"; word.Valid {
				line[i] = word.String
			}
		}
		lines = append(lines, strings.Join(line, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return lines
}
