package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen/idgentest"
)

// TestStableIDs shows how an application's test gets the same keys in every run.
func TestStableIDs(t *testing.T) {
	t.Parallel() // each test has its own pool
	db, ids := must(gorm.Open(sqlite.Open(":memory:"))), idgentest.New(t)
	check(db.Use(gormid.New(gormid.Config{Source: ids})))
	check(db.AutoMigrate(&User{}))
	check(db.Create([]*User{{Name: "Ada"}, {Name: "Bob"}}).Error)
	ids.Advance(time.Hour)
	check(db.Create(&User{Name: "Cy"}).Error)

	var users []User
	check(db.Order("id").Find(&users).Error)
	want := `[{"ID":"132271570944004097","Name":"Ada"},{"ID":"132271570944004098","Name":"Bob"},{"ID":"132286670438404097","Name":"Cy"}]`
	if got := string(must(json.Marshal(users))); got != want {
		t.Errorf("the users are\n%s, want\n%s", got, want)
	}
}
