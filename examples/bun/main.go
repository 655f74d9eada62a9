package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	_ "github.com/glebarez/go-sqlite"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type User struct {
	bunid.Filled        // fills the key when the row is inserted
	ID           pk.ID  `bun:",pk"` // a BIGINT
	Name         string `bun:",unique"`
}

func main() {
	ctx := context.Background()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(1)})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close(ctx)
	idgen.SetDefault(pool)

	conn, err := sql.Open("sqlite", "file:bun?mode=memory&cache=shared")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	db, err := bunid.Use(bun.NewDB(conn, sqlitedialect.New()), (*User)(nil))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := db.NewCreateTable().Model((*User)(nil)).Exec(ctx); err != nil {
		log.Fatal(err)
	}
	users := []User{{Name: "Ada"}, {Name: "Grace"}}
	if _, err := db.NewInsert().Model(&users).Exec(ctx); err != nil {
		log.Fatal(err)
	}
	for _, u := range users {
		fmt.Println(u.Name, u.ID)
	}
	// An existing row keeps its key, and the struct gets that key.
	again := User{Name: "Ada"}
	if _, err := db.NewInsert().Model(&again).On("CONFLICT (name) DO UPDATE").Exec(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Name, again.ID)
}
