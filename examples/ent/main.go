package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/glebarez/go-sqlite"

	"github.com/snowkey-go/snowkey/examples/ent/ent"
	_ "github.com/snowkey-go/snowkey/examples/ent/ent/runtime" // ent needs it for hooks
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
)

func main() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(1)})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close(ctx)
	idgen.SetDefault(pool)

	db, err := sql.Open("sqlite", "file:ent?mode=memory&cache=shared&_pragma=foreign_keys(1)")
	if err != nil {
		log.Fatal(err)
	}
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db)))
	if err := client.Schema.Create(ctx); err != nil {
		log.Fatal(err)
	}
	ada, err := client.User.Create().SetName("Ada").Save(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ada.Name, ada.ID)
}
