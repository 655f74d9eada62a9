package gormid_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen/idgentest"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// GORM takes text as SQL, so docs/gorm.md shows how to find a row by its key.
func TestQueryByKey(t *testing.T) {
	type numbered struct{ ID pk.ID }
	type sorted struct {
		ID pk.SortText `gorm:"size:13"`
	}
	each(t, []any{&numbered{}, &sorted{}}, func(t *testing.T, e *env) {
		numbers := make([]numbered, 2)
		texts := []sorted{{1234567890123456788}, {1234567890123456789}} // 128GGYHYYK08M and N
		must(t, e.Create(&numbers))
		must(t, e.Create(&texts))

		id := dbtest.Must(pk.Parse(numbers[1].ID.String()))(t)
		var number numbered
		if err := e.First(&number, id).Error; err != nil || number != numbers[1] {
			t.Errorf("got %v, %v, want %v", number, err, numbers[1])
		}
		key := texts[1].ID
		var text sorted
		if err := e.First(&text, "id = ?", key).Error; err != nil || text != texts[1] {
			t.Errorf("got %v, %v, want %v", text, err, texts[1])
		}
		if err := e.First(&sorted{}, key.String()).Error; err == nil {
			t.Error("the text of a key alone is accepted, so docs/gorm.md is wrong")
		}
	})
}

// A test of an existing service finds the keys that the database would count.
func TestCounter(t *testing.T) {
	e := bare(t, dbtest.SQLite(t))
	use(t, e.DB, gormid.Config{Source: new(idgentest.Counter), FillIntegers: true, Models: []any{&counted{}, &listed{}}})
	migrate(t, e.DB, &counted{}, &listed{})
	must(t, e.Create(&listed{ID: 7}))
	must(t, e.Create(&listed{}))
	must(t, e.Create(&[]*counted{{}, {ID: 5}, {}}))
	must(t, e.Create(&counted{}))
	must(t, e.Model(&counted{}).Create(map[string]any{"name": "map"}))
	e.wantTable(t, "SELECT id FROM listeds ORDER BY id", "7", "8")
	e.wantTable(t, "SELECT id FROM counteds ORDER BY id", "5", "6", "7", "8", "9")
}
