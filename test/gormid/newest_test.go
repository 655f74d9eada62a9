//go:build newest

package gormid_test

import (
	"context"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// Generics exist since GORM 1.30. Versions before that don't return the keys of
// associations that are maps.
func init() {
	ways = append(ways,
		several(list("generics", func(db *gorm.DB, us []user) *gorm.DB {
			db.AddError(gorm.G[user](db).Create(context.Background(), &us[0]))
			db.AddError(gorm.G[user](db, gorm.WithResult()).Create(context.Background(), &us[1]))
			return db
		})),
		list("generics with OnConflict", func(db *gorm.DB, us []user) *gorm.DB {
			db.AddError(gorm.G[user](db, clause.OnConflict{DoNothing: true}).CreateInBatches(context.Background(), &us, 9))
			return db
		}),
		several(list("generics in batches", func(db *gorm.DB, us []user) *gorm.DB {
			db.AddError(gorm.G[user](db).CreateInBatches(context.Background(), &us, 1))
			return db
		})),
		several(list("generics with Select", func(db *gorm.DB, us []user) *gorm.DB {
			db.AddError(gorm.G[user](db).Select("Name").Create(context.Background(), &us[0]))
			db.AddError(gorm.G[user](db).Omit("Age").Create(context.Background(), &us[1]))
			return db
		})))
	conflicts = append(conflicts,
		conflict{name: "DoNothing, generics", rows: accounts("x taken -", "y new -"),
			create: func(db *gorm.DB, as []account) *gorm.DB {
				db.AddError(gorm.G[account](db, doNothing).CreateInBatches(db.Statement.Context, &as, 9))
				return db
			},
			want: []string{skipped, inserted}})
	familyWays = append(familyWays,
		familyWay{"generics", func(e *env) (*gorm.DB, []*author) {
			as := []author{family("a"), family("b")}
			tx := e.Session(&gorm.Session{})
			tx.AddError(gorm.G[author](e.DB).Create(context.Background(), &as[0]))
			rest := as[1:]
			tx.AddError(gorm.G[author](e.DB, clause.OnConflict{UpdateAll: true}).CreateInBatches(context.Background(), &rest, 10))
			return tx, []*author{&as[0], &as[1]}
		}})
}

// TestGenericsSet: a row that is created from assignments isn't in memory, but must
// have a key nevertheless.
func TestGenericsSet(t *testing.T) {
	each(t, []any{&user{}}, func(t *testing.T, e *env) {
		set := clause.Assignment{Column: clause.Column{Name: "name"}, Value: "a"}
		dbtest.NoError(t, gorm.G[user](e.DB).Set(set).Create(t.Context()))
		e.wantTable(t, "SELECT id, name FROM users", line(e.source.Last(), "a"))
	})
}
