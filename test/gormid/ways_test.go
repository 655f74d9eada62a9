package gormid_test

import (
	"fmt"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
	"github.com/snowkey-go/snowkey/test/internal/rowtest"
)

// A way is one of the ways to create the users "a" and "b". It's called with their
// keys, or zeros, and returns the keys that are in memory afterwards.
type way struct {
	name   string
	create func(db *gorm.DB, a, b pk.ID) (memory [2]pk.ID, err error)
	once   bool // both rows are created by a single INSERT
}

// Package matrix tries the common ways with all types of keys. These are the others.
var ways = []way{
	list("pointer to array", func(db *gorm.DB, us []user) *gorm.DB { return db.Create((*[2]user)(us)) }),
	list("array of pointers", func(db *gorm.DB, us []user) *gorm.DB { return db.Create([2]*user{&us[0], &us[1]}) }),
	list("pointer to array of pointers", func(db *gorm.DB, us []user) *gorm.DB { return db.Create(&[2]*user{&us[0], &us[1]}) }),
	list("slice with Table", func(db *gorm.DB, us []user) *gorm.DB { return db.Table("users").Create(&us) }),

	several(list("CreateBatchSize", func(db *gorm.DB, us []user) *gorm.DB {
		return db.Session(&gorm.Session{CreateBatchSize: 1}).Create(&us)
	})),

	several(maps("pointer to map", func(db *gorm.DB, ms []map[string]any) *gorm.DB {
		db.Model(&user{}).Create(&ms[0])
		return db.Model(user{}).Create(&ms[1])
	})),
	several(maps("map with Table", func(db *gorm.DB, ms []map[string]any) *gorm.DB {
		db.Table("users").Create(ms[0])
		return db.Table("users").Create(&ms[1])
	})),
	maps("slice of maps with Table", func(db *gorm.DB, ms []map[string]any) *gorm.DB { return db.Table("users").Create(ms) }),
	maps("pointer to slice of maps with Table", func(db *gorm.DB, ms []map[string]any) *gorm.DB { return db.Table("users").Create(&ms) }),
	maps("slice of maps with Table, and Select", func(db *gorm.DB, ms []map[string]any) *gorm.DB {
		return db.Table("users").Select("name").Create(ms)
	}),

	list("Save of slice", func(db *gorm.DB, us []user) *gorm.DB { return db.Save(&us) }),
	list("Select", func(db *gorm.DB, us []user) *gorm.DB { return db.Select("Name").Create(&us) }),
	list("Select of columns", func(db *gorm.DB, us []user) *gorm.DB { return db.Select("users.name", "age").Create(&us) }),
	list("Select of all", func(db *gorm.DB, us []user) *gorm.DB { return db.Select("*").Create(&us) }),
	list("Omit", func(db *gorm.DB, us []user) *gorm.DB { return db.Omit("Age", clause.Associations).Create(&us) }),
	{"map with the field's name", func(db *gorm.DB, a, b pk.ID) ([2]pk.ID, error) {
		ms := []map[string]any{{"Name": "a", "ID": a}, {"name": "b", "ID": nil}}
		if b != 0 {
			ms[1]["ID"] = &b
		}
		err := db.Model(&user{}).Create(ms).Error
		var memory [2]pk.ID
		for i, m := range ms {
			switch id := m["ID"].(type) {
			case pk.ID:
				memory[i] = id
			case *pk.ID:
				memory[i] = *id
			}
		}
		return memory, err
	}, true},
	several(maps("map with Select", func(db *gorm.DB, ms []map[string]any) *gorm.DB {
		db.Model(&user{}).Select("Name").Create(ms[0])
		return db.Model(&user{}).Select("name").Create(ms[1])
	})),

	list("SkipHooks", func(db *gorm.DB, us []user) *gorm.DB { return db.Session(&gorm.Session{SkipHooks: true}).Create(&us) }),
}

// list is a way that uses structs.
func list(name string, create func(db *gorm.DB, us []user) *gorm.DB) way {
	return way{name, func(db *gorm.DB, a, b pk.ID) ([2]pk.ID, error) {
		us := []user{{ID: a, Name: "a"}, {ID: b, Name: "b"}}
		err := create(db, us).Error
		return [2]pk.ID{us[0].ID, us[1].ID}, err
	}, true}
}

// maps is a way that uses maps. For a zero key, the first map has no entry, whereas the
// second has one with a zero.
func maps(name string, create func(db *gorm.DB, ms []map[string]any) *gorm.DB) way {
	return way{name, func(db *gorm.DB, a, b pk.ID) ([2]pk.ID, error) {
		ms := []map[string]any{{"name": "a"}, {"name": "b", "id": b}}
		if a != 0 {
			ms[0]["id"] = int64(a) // numbers of other types are accepted too
		}
		err := create(db, ms).Error
		var memory [2]pk.ID
		for i, m := range ms {
			switch id := m["id"].(type) {
			case pk.ID:
				memory[i] = id
			case int64:
				memory[i] = pk.ID(id)
			default:
				return memory, fmt.Errorf("the key of map %d is the %T %v", i, id, id)
			}
			if len(m) != 2 {
				return memory, fmt.Errorf("GORM has left something in the map: %v", m)
			}
		}
		return memory, err
	}, true}
}

func several(w way) way { w.once = false; return w }

// TestWays: whichever way is used, memory must equal the table.
func TestWays(t *testing.T) {
	reuse.Each(t, func(t *testing.T, about dbtest.DB) {
		e := bare(t, about)
		use(t, e.DB, gormid.Config{Source: e.source, Models: []any{&user{}}})
		migrate(t, e.DB, &user{})
		for _, w := range ways {
			for _, given := range rowtest.Given {
				t.Run(fmt.Sprintf("%s/%d", w.name, given), func(t *testing.T) {
					rowtest.CheckWay(t, e.conn.DB, e.source, given, w.once, func(a, b pk.ID) ([2]pk.ID, error) {
						return w.create(e.Session(&gorm.Session{NewDB: true}), a, b)
					})
				})
			}
		}
	})
}
