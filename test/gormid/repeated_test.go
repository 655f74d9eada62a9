package gormid_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// If a row is passed to a call twice, it must be refused, and must not keep a key.
func TestRepeatedRow(t *testing.T) {
	e := open(t, dbtest.SQLite(t), &user{})
	ada, bob := &user{Name: "Ada"}, &user{Name: "Bob"}
	idtest.WantRowError(t, e.Create([]*user{ada, bob, ada}).Error, 0, "is in the call a second time")
	if ada.ID != 0 || bob.ID != 0 {
		t.Errorf("the keys are %d and %d", ada.ID, bob.ID)
	}
	row := map[string]any{"name": "Eve"}
	idtest.WantRowError(t, e.Model(&user{}).Create([]map[string]any{row, row}).Error, 0, "is in the call a second time")
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

// If a model's table name includes the schema, a map finds the model both with and without
// it. If two models have tables of the same name, a map needs to have the model.
func TestQualifiedModels(t *testing.T) {
	for name, models := range map[string][]any{"one": {&mainItem{}}, "same name": {&mainItem{}, &otherItem{}}} {
		t.Run(name, func(t *testing.T) {
			e := bare(t, dbtest.SQLite(t))
			use(t, e.DB, gormid.Config{Source: e.source, Models: models})
			e.conn.SetMaxOpenConns(1)
			dbtest.Exec(t, e.conn.DB, "CREATE TABLE items (id BIGINT PRIMARY KEY, name TEXT)")
			a, b := map[string]any{"name": "a"}, map[string]any{"name": "b"}
			if len(models) == 1 {
				must(t, e.Table("main.items").Create(a))
				must(t, e.Table("items").Create(b))
				e.wantTable(t, "SELECT id, name FROM items ORDER BY id", line(a["id"], "a"), line(b["id"], "b"))
				return
			}
			dbtest.Exec(t, e.conn.DB, "CREATE TABLE temp.items (id BIGINT PRIMARY KEY, name TEXT)")
			idtest.WantRowError(t, e.Table("main.items").Create(a).Error, -1, "have tables of the same name")
			must(t, e.Model(&mainItem{}).Create(a))
			must(t, e.Model(&otherItem{}).Create(b))
			e.wantTable(t, "SELECT * FROM main.items UNION SELECT * FROM temp.items ORDER BY id", line(a["id"], "a"), line(b["id"], "b"))
		})
	}
}
