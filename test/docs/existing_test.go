package docs_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/idgentest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A service that exists keeps its models and its JSON numbers, as the README says.
func TestExistingServiceKeepsItsModels(t *testing.T) {
	type User struct {
		ID   uint
		Name string
	}
	type Order struct {
		ID     uint
		UserID uint
	}
	check := func(err error) {
		t.Helper()
		dbtest.NoError(t, err)
	}
	ctx, store := t.Context(), filestore.Dir(t.TempDir())

	ids, err := snowkey.Open(ctx, store, snowkey.Config{Layout: idgen.JSSafe()})
	check(err)
	defer ids.Close(ctx)
	db, err := gorm.Open(sqlite.Open(":memory:"))
	check(err)
	conns, err := db.DB()
	check(err)
	defer conns.Close()
	check(db.Use(gormid.New(gormid.Config{Source: ids, FillIntegers: true, Models: []any{&User{}, &Order{}}})))
	check(db.AutoMigrate(&User{}, &Order{}))

	users := []User{{Name: "Ada"}, {Name: "Bob"}}
	check(db.Create(&users).Error)
	text, err := json.Marshal(users)
	check(err)
	var seen []struct{ ID float64 } // JavaScript has no other numbers
	check(json.Unmarshal(text, &seen))
	if a, b := seen[0].ID, seen[1].ID; uint(a) != users[0].ID || uint(b) != users[1].ID || b != a+1 || a < 1<<40 || b >= 1<<53 {
		t.Errorf("%s was read as %v", text, seen)
	}
}

// The first ids of a new namespace are in the future, by as much as the README says.
func TestFirstIDsAreInTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC))) // the layout begins in 2025
		ids := dbtest.Must(snowkey.Open(t.Context(), &kvtest.Memory{}, snowkey.Config{}))(t)
		defer ids.Close(t.Context())
		for ahead := 11 * time.Second; ahead >= -time.Second; ahead -= time.Second {
			id := dbtest.Must(ids.Next(t.Context()))(t)
			if got := time.Until(ids.Layout().Decode(id).Time); (got - max(ahead, 0)).Abs() > time.Millisecond {
				t.Errorf("an id is %v in the future, want %v", got, max(ahead, 0))
			}
			time.Sleep(time.Second)
		}
	})
}

// GORM finds rows by their unique names and by their keys, as its page says.
func TestGORMFindsRows(t *testing.T) {
	type Tag struct {
		ID   pk.ID
		Name string `gorm:"size:40;uniqueIndex"`
	}
	type Post struct {
		ID   pk.ID
		Tags []Tag `gorm:"many2many:post_tags"`
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := gorm.Open(sqlite.Open(":memory:"))
	check(err)
	conns, err := db.DB()
	check(err)
	defer conns.Close()
	check(db.Use(gormid.New(gormid.Config{Source: idgentest.New(t)})))
	check(db.AutoMigrate(&Tag{}, &Post{}))
	golang := Tag{Name: "go"}
	check(db.Create(&golang).Error)
	check(db.Create(&Post{Tags: []Tag{{Name: "go"}, {Name: "sql"}}}).Error) // "go" exists; its row isn't changed

	var posts []Post
	check(db.Preload("Tags", func(tags *gorm.DB) *gorm.DB { return tags.Order("name") }).Find(&posts).Error)
	if len(posts) != 1 || len(posts[0].Tags) != 2 || posts[0].Tags[0] != golang || posts[0].Tags[1].Name != "sql" {
		t.Errorf("the posts are %+v, want one with %+v", posts, golang)
	}
	var found Tag
	text := golang.ID.String()
	id, err := pk.Parse(text)
	check(err)
	check(db.First(&found, id).Error)
	if found != golang {
		t.Errorf("the key %s finds %+v, want %+v", text, found, golang)
	}
}
