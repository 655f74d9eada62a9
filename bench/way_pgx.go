package main

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/snowkey-go/snowkey/hooks/pgxid"
	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// openPgx inserts with INSERT and COPY. COPY does not return the keys that the database
// made.
func openPgx(db *database, k keyKind) (ways, error) {
	var (
		ctx    = context.Background()
		table  = pgx.Identifier{k.table}
		all    = []string{"id", "name", "email", "created_at"}
		insert = "INSERT INTO " + k.table + " (id, name, email, created_at) VALUES ($1, $2, $3, $4)"
	)
	switch {
	case k.ours:
		return waysOf(rowsWith(unset[pk.ID]),
			func(r *row[pk.ID]) error {
				if err := sqlid.Fill(ctx, r); err != nil {
					return err
				}
				_, err := db.pgx.Exec(ctx, insert, r.ID, r.Name, r.Email, r.CreatedAt)
				return err
			},
			func(rows []row[pk.ID]) error {
				_, err := pgxid.CopyFrom(ctx, db.pgx, table, all, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
					r := &rows[i]
					return []any{&r.ID, r.Name, r.Email, r.CreatedAt}, nil
				}))
				return err
			}), nil
	case k.make == nil:
		insert := "INSERT INTO " + k.table + " (name, email, created_at) VALUES ($1, $2, $3) RETURNING id"
		return waysOf(rowsWith(unset[int64]),
			func(r *row[int64]) error {
				return db.pgx.QueryRow(ctx, insert, r.Name, r.Email, r.CreatedAt).Scan(&r.ID)
			},
			func(rows []row[int64]) error {
				_, err := db.pgx.CopyFrom(ctx, table, all[1:], pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
					r := &rows[i]
					return []any{r.Name, r.Email, r.CreatedAt}, nil
				}))
				return err
			}), nil
	default:
		// As 16 bytes, because pgx converts a uuid.UUID to text and parses the text.
		return waysOf(rowsWith(binary(k.make)),
			func(r *uuidRow) error {
				_, err := db.pgx.Exec(ctx, insert, [16]byte(r.ID), r.Name, r.Email, r.CreatedAt)
				return err
			},
			func(rows []uuidRow) error {
				_, err := db.pgx.CopyFrom(ctx, table, all, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
					r := &rows[i]
					return []any{[16]byte(r.ID), r.Name, r.Email, r.CreatedAt}, nil
				}))
				return err
			}), nil
	}
}
