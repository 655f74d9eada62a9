package gormid_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// If a row is passed to a call twice, it must be refused, and must not keep a key.
func TestRepeatedRow(t *testing.T) {
	e := open(t, dbtest.SQLite(t), &user{})
	ada, bob := &user{Name: "Ada"}, &user{Name: "Bob"}
	wantRowError(t, e.Create([]*user{ada, bob, ada}).Error, 0, "is in the call a second time")
	if ada.ID != 0 || bob.ID != 0 {
		t.Errorf("the keys are %d and %d", ada.ID, bob.ID)
	}
	row := map[string]any{"name": "Eve"}
	wantRowError(t, e.Model(&user{}).Create([]map[string]any{row, row}).Error, 0, "is in the call a second time")
	if len(row) != 1 {
		t.Errorf("the map is %v", row)
	}
	must(t, e.Create([]*user{ada, bob}))
	e.wantTable(t, "SELECT id, name FROM users ORDER BY id", line(ada.ID, "Ada"), line(bob.ID, "Bob"))
}

type (
	mainItem struct {
		ID   pk.ID
		Name string `gorm:"size:40"`
	}
	otherItem struct {
		ID   int64  `gorm:"primaryKey;autoIncrement:false;snowkey"`
		Name string `gorm:"size:40"`
	}
)

func (mainItem) TableName() string  { return "main.items" }
func (otherItem) TableName() string { return "temp.items" }

// Tables of two models may have the same name if they are in different schemas. A map
// then needs to have the model.
func TestTablesOfTheSameName(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	use(t, e.DB, gormid.Config{Source: e.source, Models: []any{&mainItem{}, &otherItem{}}})
	e.conn.SetMaxOpenConns(1)
	must(t, e.Exec("CREATE TABLE main.items (id BIGINT PRIMARY KEY, name TEXT)"))
	must(t, e.Exec("CREATE TABLE temp.items (id BIGINT PRIMARY KEY, name TEXT)"))
	wantRowError(t, e.Table("main.items").Create(map[string]any{"name": "a"}).Error, -1, "have tables of the same name")
	must(t, e.Model(&mainItem{}).Create(map[string]any{"name": "a"}))
	must(t, e.Model(&otherItem{}).Create(map[string]any{"name": "b"}))
	if n := len(e.source.Asked); n != 2 {
		t.Errorf("%d draws for two maps", n)
	}
}
