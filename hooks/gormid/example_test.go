package gormid_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

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

func Example() {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(7)})
	check(err)
	defer pool.Close(context.Background())
	idgen.SetDefault(pool)
	defer idgen.SetDefault(nil)

	db, err := gorm.Open(sqlite.Open(":memory:"))
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
	check(db.AutoMigrate(&User{}, &Post{}))

	ada := User{Name: "Ada", Posts: []Post{{Title: "On engines"}, {Title: "Notes"}}}
	check(db.Create(&ada).Error)

	var posts []Post
	check(db.Order("id").Find(&posts, "user_id = ?", ada.ID).Error)
	for _, p := range posts {
		fmt.Println(p.Title, "by worker", pool.Layout().Decode(p.ID.Int64()).Worker)
	}
	// Output:
	// On engines by worker 7
	// Notes by worker 7
}

// Keys that are plain Go types opt in by their tag, and may have a generator of
// their own.
func Example_tag() {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(8)})
	check(err)
	defer pool.Close(context.Background())

	db, err := gorm.Open(sqlite.Open(":memory:"))
	check(err)
	check(db.Use(gormid.New(gormid.Config{Source: pool})))

	type Order struct {
		Number int64 `gorm:"primaryKey;autoIncrement:false;snowkey:orders"`
		Item   string
	}
	check(db.AutoMigrate(&Order{}))

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

// A row that was left out has no key, and a row that was merged has the key of
// the row that took it in.
func Example_onConflict() {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(9)})
	check(err)
	defer pool.Close(context.Background())

	db, err := gorm.Open(sqlite.Open(":memory:"))
	check(err)
	check(db.Use(gormid.New(gormid.Config{Source: pool})))

	type User struct {
		ID    pk.ID
		Email string `gorm:"unique"`
		Name  string
	}
	check(db.AutoMigrate(&User{}))
	ada := User{Email: "ada@example.com", Name: "Ada"}
	check(db.Create(&ada).Error)

	users := []User{{Email: "ada@example.com"}, {Email: "bob@example.com"}}
	check(db.Clauses(clause.OnConflict{DoNothing: true}).Create(&users).Error)
	fmt.Println("left out:", users[0].ID.IsZero(), users[1].ID.IsZero())

	again := User{Email: "ada@example.com", Name: "Ada Lovelace"}
	check(db.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "email"}},
		DoUpdates: clause.AssignmentColumns([]string{"name"}),
	}).Create(&again).Error)
	fmt.Println("merged:", again.ID == ada.ID)
	// Output:
	// left out: true false
	// merged: true
}

// Models that are listed are checked at the start, before their tables are made.
func ExampleConfig_models() {
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{Logger: logger.Discard})
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
