package gormid_test

import (
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// These tests run GORM without the plugin. Keys come either from the database, or from
// a BeforeCreate hook, which is the usual way. The tests demonstrate the faults that
// the plugin prevents, so if one of them fails, a new version of GORM has fixed the
// fault.

// byHook fills in its key in a hook.
type byHook struct {
	ID   int64   `gorm:"primaryKey;autoIncrement:false"`
	Name *string `gorm:"size:40;unique"`
}

var lastByHook int64 = 1 << 60

func (h *byHook) BeforeCreate(*gorm.DB) error {
	if h.ID == 0 {
		lastByHook++
		h.ID = lastByHook
	}
	return nil
}

// numbered has an auto-increment key.
type numbered struct {
	ID      uint64
	Name    string
	Created int64 `gorm:"autoCreateTime"`
}

func TestTraps(t *testing.T) {
	type small struct {
		ID       uint64
		ByHookID int32
		ByHook   byHook
	}
	type letter struct {
		ID     uint64
		UserID string
		User   user
	}
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		e := bare(t, about, &byHook{}, &numbered{})

		t.Run("a row left out has a key", func(t *testing.T) {
			name := "taken"
			hs := []byHook{{Name: &name}, {Name: &name}}
			must(t, e.Clauses(clause.OnConflict{DoNothing: true}).Create(&hs))
			if got := e.table(t, "SELECT id FROM by_hooks"); len(got) != 1 || hs[1].ID == 0 || got[0] == line(hs[1].ID) {
				t.Errorf("no ghost: %v and %q", hs, got)
			}
		})
		t.Run("a merged row has a key of its own", func(t *testing.T) {
			name := "taken"
			h := byHook{Name: &name}
			must(t, e.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: setName}).Create(&h))
			if got := e.table(t, "SELECT id FROM by_hooks"); len(got) != 1 || h.ID == 0 || got[0] == line(h.ID) {
				t.Errorf("no ghost: %v and %q", h, got)
			}
		})
		t.Run("Select drops the key", func(t *testing.T) {
			name := "selected"
			h := byHook{Name: &name}
			err := e.Select("Name").Create(&h).Error
			// Postgres and MySQL have no value for the column, whereas SQLite makes one
			// up.
			if got := e.table(t, "SELECT id FROM by_hooks WHERE name = 'selected'"); err == nil && got[0] == line(h.ID) {
				t.Errorf("the key is there: %d", h.ID)
			}
		})
		t.Run("keys of maps are rewritten", func(t *testing.T) {
			if about.Dialect != "mysql" || about.MariaDB { // the others use RETURNING
				return
			}
			ms := []map[string]any{{"id": int64(idB), "name": "a"}, {"id": int64(idA), "name": "b"}}
			must(t, e.Model(&numbered{}).Create(ms))
			if ms[0]["id"] == int64(idB) && ms[1]["id"] == int64(idA) {
				t.Errorf("the keys are still there: %v", ms)
			}
		})
		t.Run("a struct by value panics", func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			e.Create(numbered{Name: "a"})
		})
		t.Run("int32 loses bits", func(t *testing.T) {
			s := small{ByHook: byHook{ID: idA}}
			e.Session(&gorm.Session{DryRun: true}).Create(&s)
			if int64(s.ByHookID) == idA || s.ByHookID == 0 {
				t.Errorf("the foreign key is %d", s.ByHookID)
			}
		})
		t.Run("string becomes a letter", func(t *testing.T) {
			l := letter{User: user{ID: idA}} // only int64 itself isn't affected
			e.Session(&gorm.Session{DryRun: true}).Create(&l)
			if l.UserID == line(int64(idA)) || l.UserID == "" {
				t.Errorf("the foreign key is %q", l.UserID)
			}
		})
	})
}
