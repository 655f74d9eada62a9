package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/glebarez/go-sqlite"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/sqlstore"

	"github.com/snowkey-go/snowkey/examples/ent/ent"
	_ "github.com/snowkey-go/snowkey/examples/ent/ent/runtime" // ent needs it for hooks
)

func main() {
	db, ctx := must(sql.Open("sqlite", "shop.db?_txlock=immediate&_pragma=foreign_keys(1)&_pragma=busy_timeout(2000)")), context.Background()
	ids := must(snowkey.Open(ctx, sqlstore.SQLite(db), snowkey.Config{}))
	defer ids.Close(ctx) // gives the worker number back
	idgen.SetDefault(ids)
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db)))
	check(client.Schema.Create(ctx))
	ada := must(client.User.Create().SetName("Ada").Save(ctx))
	fmt.Println(ada.ID)
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
