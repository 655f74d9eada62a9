package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	_ "github.com/glebarez/go-sqlite"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type User struct {
	bunid.Filled       // fills the key when the row is inserted
	ID           pk.ID `bun:",pk"` // a BIGINT
	Name         string
}

func main() {
	db, ctx := must(sql.Open("sqlite", "shop.db?_pragma=busy_timeout(2000)")), context.Background()
	ids := must(snowkey.Open(ctx, sqlstore.SQLite(db), snowkey.Config{}))
	defer ids.Close(ctx) // gives the worker number back
	idgen.SetDefault(ids)
	shop := must(bunid.Use(bun.NewDB(db, sqlitedialect.New()), (*User)(nil)))
	must(shop.NewCreateTable().Model((*User)(nil)).IfNotExists().Exec(ctx))
	users := []User{{Name: "Ada"}, {Name: "Bob"}}
	must(shop.NewInsert().Model(&users).Exec(ctx))
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
