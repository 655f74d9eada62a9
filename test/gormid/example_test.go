package gormid_test

import (
	"context"
	"fmt"
	"log"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

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

// A row that was skipped has no key. A row that was merged has the key of the row in
// the table.
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
