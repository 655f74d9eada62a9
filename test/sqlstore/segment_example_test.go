package sqlstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmentstore"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// Invoices inserted by GORM are numbered from 1001, using segments from the same
// database.
func Example_invoices() {
	ctx := context.Background()
	db, err := gorm.Open(sqlite.Open(":memory:"))
	check(err)
	pool, err := db.DB()
	check(err)
	defer pool.Close()
	pool.SetMaxOpenConns(1) // otherwise, each connection would have its own database

	store := segmentstore.SQLite(pool)
	check(store.Migrate(ctx))
	numbers, err := segment.New(store, segment.Config{Name: "invoices", MinValue: 1001})
	check(err)
	defer numbers.Close(ctx)

	check(db.Use(gormid.New(gormid.Config{Source: numbers})))
	type Invoice struct {
		ID   pk.ID
		Item string
	}
	check(db.AutoMigrate(&Invoice{}))

	invoices := []Invoice{{Item: "tea"}, {Item: "milk"}, {Item: "sugar"}}
	check(db.Create(&invoices).Error)
	for _, i := range invoices {
		fmt.Println(i.ID, i.Item)
	}
	// Output:
	// 1001 tea
	// 1002 milk
	// 1003 sugar
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
