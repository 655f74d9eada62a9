package gormid_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/utils/tests"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/schema/pk"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// open stands for the dialector of a database, such as postgres.Open(dsn).
func open() gorm.Dialector { return tests.DummyDialector{} }

// Create fills the keys of a row and of what belongs to it.
func Example() {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(7)})
	check(err)
	defer pool.Close(context.Background())
	idgen.SetDefault(pool)
	defer idgen.SetDefault(nil)

	db, err := gorm.Open(open(), &gorm.Config{DryRun: true})
	check(err)
	check(db.Use(gormid.New(gormid.Config{})))

	type Post struct {
		ID     pk.ID
		UserID pk.ID
		Title  string
	}
	type User struct {
		ID    pk.ID
		Name  string
		Posts []Post
	}
	ada := User{Name: "Ada", Posts: []Post{{Title: "On engines"}, {Title: "Notes"}}}
	check(db.Create(&ada).Error)

	for _, p := range ada.Posts {
		fmt.Println(p.Title, "by worker", pool.Layout().Decode(p.ID.Int64()).Worker, p.UserID == ada.ID)
	}
	// Output:
	// On engines by worker 7 true
	// Notes by worker 7 true
}

// Keys that are plain Go types opt in by their tag, and may have a generator of
// their own.
func Example_tag() {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(8)})
	check(err)
	defer pool.Close(context.Background())

	db, err := gorm.Open(open(), &gorm.Config{DryRun: true})
	check(err)
	check(db.Use(gormid.New(gormid.Config{Source: pool})))

	type Order struct {
		Number int64 `gorm:"primaryKey;autoIncrement:false;snowkey:orders"`
		Item   string
	}
	orders := []Order{{Item: "tea"}, {Number: 42, Item: "milk"}, {Item: "sugar"}}
	check(db.Create(&orders).Error)

	fmt.Println("worker", pool.Layout().Decode(orders[0].Number).Worker)
	fmt.Println("given", orders[1].Number)
	fmt.Println("ascending", orders[0].Number < orders[2].Number)
	// Output:
	// worker 8
	// given 42
	// ascending true
}

// Models that are listed are checked at the start, before their tables are made.
func ExampleConfig_models() {
	db, err := gorm.Open(open(), &gorm.Config{Logger: logger.Discard})
	check(err)

	type Invoice struct {
		ID int32 `gorm:"primaryKey;autoIncrement:false;snowkey"`
	}
	err = db.Use(gormid.New(gormid.Config{Models: []any{&Invoice{}}}))

	if e, ok := errors.AsType[*gormid.FieldError](err); ok {
		fmt.Println(e.Field, e.Problem)
		fmt.Println(e.Remedy)
	}
	// Output:
	// ID cannot hold a 64-bit key
	// declare it as pk.ID, int64, uint64 or string
}

// A call that could not fill the key of a row is refused.
func ExampleRowError() {
	db, err := gorm.Open(open(), &gorm.Config{DryRun: true, Logger: logger.Discard})
	check(err)
	check(db.Use(gormid.New(gormid.Config{})))

	type User struct{ ID pk.ID }
	err = db.Create(User{}).Error

	if e, ok := errors.AsType[*gormid.RowError](err); ok {
		fmt.Println(e.Problem)
		fmt.Println(e.Remedy)
	}
	// Output:
	// was passed by value, so that its key cannot be filled
	// pass a pointer: db.Create(&row)
}
