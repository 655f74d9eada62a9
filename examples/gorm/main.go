package main

import (
	"context"
	"fmt"
	"log"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type User struct {
	ID   pk.ID // a BIGINT, filled when the row is created
	Name string
}

func main() {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(1)})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close(context.Background())
	idgen.SetDefault(pool)

	db, err := gorm.Open(sqlite.Open("file::memory:"), &gorm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Use(gormid.New(gormid.Config{})); err != nil {
		log.Fatal(err)
	}
	if err := db.AutoMigrate(&User{}); err != nil {
		log.Fatal(err)
	}
	ada := User{Name: "Ada"}
	if err := db.Create(&ada).Error; err != nil {
		log.Fatal(err)
	}
	fmt.Println(ada.Name, ada.ID)
}
