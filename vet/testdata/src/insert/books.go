package insert

import (
	"context"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"insert/sqlc"
)

func books(ctx context.Context, q *sqlc.Queries, id int64) {
	q.CreateBook(ctx, sqlc.CreateBookParams{Title: "a"})         // want "CreateBook is called with the key 0"
	q.CreateBook(ctx, sqlc.CreateBookParams{ID: id, Title: "a"}) // fine
	book := sqlc.CreateBookParams{Title: "b"}
	_ = sqlid.Fill(ctx, &book)
	q.CreateBook(ctx, book) // fine
}
