package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/hooks/pgxid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type User struct {
	ID   pk.ID // a bigint, filled by pgxid.CopyFrom
	Name string
}

func main() {
	ctx, config := context.Background(), must(pgxpool.ParseConfig(os.Getenv("DATABASE_URL")))
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		pgxid.Register(conn.TypeMap()) // for lists of keys
		return nil
	}
	db := must(pgxpool.NewWithConfig(ctx, config))
	defer db.Close()
	ids := must(snowkey.Open(ctx, sqlstore.Postgres(stdlib.OpenDBFromPool(db)), snowkey.Config{}))
	defer ids.Close(ctx) // gives the worker number back, and the connection
	idgen.SetDefault(ids)
	must(db.Exec(ctx, "CREATE TABLE IF NOT EXISTS users (id bigint PRIMARY KEY CHECK (id > 0), name text)"))
	users := []User{{Name: "Ada"}, {Name: "Bob"}}
	must(pgxid.CopyFrom(ctx, db, pgx.Identifier{"users"}, []string{"id", "name"},
		pgx.CopyFromSlice(len(users), func(i int) ([]any, error) {
			return []any{&users[i].ID, users[i].Name}, nil // fills users[i].ID
		})))
	fmt.Println(users[0].ID, users[1].ID)
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
