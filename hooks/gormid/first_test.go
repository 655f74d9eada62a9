package gormid_test

import (
	"context"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type fUser struct {
	ID    pk.ID
	Name  string
	Email *string `gorm:"size:100;unique"`
}

func TestFirst(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d dbtest.DB) {
		var dial gorm.Dialector
		switch d.Dialect {
		case "sqlite":
			dial = sqlite.Open(d.DSN)
		case "postgres":
			dial = postgres.Open(d.DSN)
		case "mysql":
			dial = mysql.Open(d.DSN)
		}
		db, err := gorm.Open(dial, &gorm.Config{Logger: logger.Default.LogMode(logger.Info)})
		if err != nil {
			t.Fatal(err)
		}
		sq, _ := db.DB()
		t.Cleanup(func() { sq.Close() })
		pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(5)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pool.Close(context.Background()) })
		if err := db.Use(gormid.New(gormid.Config{Source: pool})); err != nil {
			t.Fatal(err)
		}
		if err := db.AutoMigrate(&fUser{}); err != nil {
			t.Fatal(err)
		}
		e := "a@x"
		u := fUser{Name: "a", Email: &e}
		if err := db.Create(&u).Error; err != nil {
			t.Fatal(err)
		}
		us := []fUser{{Name: "b", Email: &e}, {Name: "c"}}
		if err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&us).Error; err != nil {
			t.Fatal(err)
		}
		t.Log(u.ID, us)
		us = []fUser{{Name: "b", Email: &e}, {Name: "c"}}
		if err := db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}).Create(&us).Error; err != nil {
			t.Fatal(err)
		}
		t.Log(u.ID, us)
	})
}
