package main

import (
	"context"
	"fmt"
	"log"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type User struct {
	ID   pk.ID // a BIGINT, filled when the row is created
	Name string
}

func main() {
	db := must(gorm.Open(sqlite.Open("shop.db?_pragma=busy_timeout(2000)")))
	ids := must(snowkey.Open(context.Background(), sqlstore.SQLite(must(db.DB())), snowkey.Config{}))
	defer ids.Close(context.Background()) // gives the worker number back
	check(db.Use(gormid.New(gormid.Config{Source: ids})))
	check(db.AutoMigrate(&User{}))
	ada, bob := User{Name: "Ada"}, User{Name: "Bob"}
	check(db.Create([]*User{&ada, &bob}).Error)
	fmt.Println(ada.ID, bob.ID)
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
