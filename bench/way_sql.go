package main

import (
	"context"
	"strings"

	"github.com/snowkey-go/snowkey/bench/internal/uuid16"
	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A uuidRow has a key that is sent as 16 bytes.
type uuidRow = row[uuid16.UUID]

// openSQL inserts into MySQL with INSERT. When many rows are inserted at once, MySQL
// only returns the first of the keys that it generated.
func openSQL(db *database, k keyKind) (ways, error) {
	ctx := context.Background()
	statement := func(columns string, rows int) string {
		row := "(?" + strings.Repeat(", ?", strings.Count(columns, ",")) + ")"
		return "INSERT INTO " + k.table + " (" + columns + ") VALUES " + row + strings.Repeat(", "+row, rows-1)
	}
	const values, all = "name, email, created_at", "id, name, email, created_at"
	switch {
	case k.ours:
		one, many := statement(all, 1), statement(all, bulkRows)
		return waysOf(rowsWith(unset[pk.ID]),
			func(r *row[pk.ID]) error {
				if err := sqlid.Fill(ctx, r); err != nil {
					return err
				}
				_, err := db.sql.ExecContext(ctx, one, r.ID, r.Name, r.Email, r.CreatedAt)
				return err
			},
			func(rows []row[pk.ID]) error {
				if err := sqlid.Fill(ctx, rows); err != nil {
					return err
				}
				_, err := db.sql.ExecContext(ctx, many, arguments(rows)...)
				return err
			}), nil
	case k.make == nil:
		one, many := statement(values, 1), statement(values, bulkRows)
		return waysOf(rowsWith(unset[int64]),
			func(r *row[int64]) error {
				result, err := db.sql.ExecContext(ctx, one, r.Name, r.Email, r.CreatedAt)
				if err != nil {
					return err
				}
				r.ID, err = result.LastInsertId()
				return err
			},
			func(rows []row[int64]) error {
				args := make([]any, 0, 3*len(rows))
				for _, r := range rows {
					args = append(args, r.Name, r.Email, r.CreatedAt)
				}
				_, err := db.sql.ExecContext(ctx, many, args...)
				return err
			}), nil
	default:
		one, many := statement(all, 1), statement(all, bulkRows)
		return waysOf(rowsWith(binary(k.make)),
			func(r *uuidRow) error {
				_, err := db.sql.ExecContext(ctx, one, r.ID, r.Name, r.Email, r.CreatedAt)
				return err
			},
			func(rows []uuidRow) error {
				_, err := db.sql.ExecContext(ctx, many, arguments(rows)...)
				return err
			}), nil
	}
}

func arguments[K any](rows []row[K]) []any {
	args := make([]any, 0, 4*len(rows))
	for _, r := range rows {
		args = append(args, r.ID, r.Name, r.Email, r.CreatedAt)
	}
	return args
}
