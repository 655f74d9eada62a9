package main

import (
	"context"
	"database/sql"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/snowkey-go/snowkey/examples/ent/ent"
	_ "github.com/snowkey-go/snowkey/examples/ent/ent/runtime" // registers the hooks of the schema
)

// createWithEnt creates the tables, and then rows: one by one, in bulk and with edges.
func createWithEnt(ctx context.Context, db *sql.DB) ([]row, error) {
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db)))
	if err := client.Schema.Create(ctx); err != nil {
		return nil, err
	}
	ada, err := client.User.Create().SetName("Ada").Save(ctx)
	if err != nil {
		return nil, err
	}
	posts, err := client.Post.CreateBulk(
		client.Post.Create().SetTitle("Notes").SetAuthor(ada),
		client.Post.Create().SetTitle("More notes").SetAuthor(ada),
	).Save(ctx)
	if err != nil {
		return nil, err
	}
	rows := []row{{"ent", "user", ada.ID, ada.Name, 0}}
	for _, p := range posts {
		rows = append(rows, row{"ent", "post", p.ID, p.Title, p.AuthorID})
	}
	return rows, nil
}
