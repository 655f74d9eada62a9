package recipes

import (
	"fmt"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/sharding"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
)

type Order struct {
	ID     int64 `gorm:"primaryKey;autoIncrement:false;snowkey"`
	UserID int64 `gorm:"uniqueIndex:by_number"`
	Number int64 `gorm:"uniqueIndex:by_number"`
	Text   string
}

// openSharded opens a database with four tables of orders, and registers the plugins in
// their order.
func openSharded(t *testing.T, about dbtest.DB, plugins ...gorm.Plugin) *gorm.DB {
	t.Helper()
	conn := about.Connect(t)
	for n := range 4 {
		dbtest.Exec(t, conn, fmt.Sprintf("CREATE TABLE orders_%d (id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT NOT NULL, number BIGINT NOT NULL, text varchar(40), CHECK (id > 0), UNIQUE (user_id, number))", n))
	}
	dialector := postgres.New(postgres.Config{Conn: conn})
	if about.Dialect == "mysql" {
		dialector = mysql.New(mysql.Config{Conn: conn})
	}
	db := dbtest.Must(gorm.Open(dialector, &gorm.Config{Logger: logger.Discard}))(t)
	for _, p := range plugins {
		dbtest.NoError(t, db.Use(p))
	}
	return db
}

func byUser() *sharding.Sharding {
	return sharding.Register(sharding.Config{
		ShardingKey:           "user_id",
		NumberOfShards:        4,
		PrimaryKeyGenerator:   sharding.PKCustom,
		PrimaryKeyGeneratorFn: func(int64) int64 { return 0 }, // gormid fills the key
	}, "orders")
}

func TestSharding(t *testing.T) {
	ids := func() gorm.Plugin { return gormid.New(gormid.Config{Source: new(idtest.Source)}) }
	t.Run("gormid first", func(t *testing.T) {
		dbtest.EachServer(t, func(t *testing.T, about dbtest.DB) { testSharding(t, about, ids(), byUser()) })
	})
	t.Run("sharding first", func(t *testing.T) {
		dbtest.EachServer(t, func(t *testing.T, about dbtest.DB) { testSharding(t, about, byUser(), ids()) })
	})
}

func testSharding(t *testing.T, about dbtest.DB, plugins ...gorm.Plugin) {
	db := openSharded(t, about, plugins...).WithContext(t.Context())
	// stored checks that each row is in its user's table, with the same key as in
	// memory.
	stored := func(rows ...Order) {
		t.Helper()
		for _, want := range rows {
			var got Order
			if err := db.Where("user_id = ? AND id = ?", want.UserID, want.ID).First(&got).Error; err != nil || got != want {
				t.Errorf("stored %+v, %v, want %+v", got, err, want)
			}
			var n int64
			table := fmt.Sprint("orders_", want.UserID%4)
			if err := db.Raw("SELECT count(*) FROM "+table+" WHERE id = ?", want.ID).Scan(&n).Error; err != nil || n != 1 {
				t.Errorf("%s has %d rows of %d: %v", table, n, want.ID, err)
			}
		}
	}

	one := Order{UserID: 1, Number: 1, Text: "one"}
	dbtest.NoError(t, db.Create(&one).Error)
	batch := []Order{{UserID: 2, Number: 1}, {ID: 1<<53 + 1, UserID: 2, Number: 2}, {UserID: 2, Number: 3}}
	dbtest.NoError(t, db.Create(&batch).Error)
	if batch[0].ID >= batch[2].ID || batch[1].ID != 1<<53+1 {
		t.Errorf("keys are %+v", batch)
	}
	stored(append(batch, one)...)

	// On MySQL, gorm.io/sharding sends upserts to the table orders, even if it doesn't
	// exist.
	if about.Dialect == "mysql" {
		for _, on := range []clause.OnConflict{{DoNothing: true}, {UpdateAll: true}} {
			if err := db.Clauses(on).Create(&Order{UserID: 2, Number: 9}).Error; err == nil || !strings.Contains(err.Error(), "orders") {
				t.Errorf("%+v: %v", on, err)
			}
		}
		return
	}

	// If the keys were set before, rows don't have to be read back.
	preset := Order{ID: 1<<53 + 2, UserID: 2, Number: 2, Text: "is there"}
	if err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&preset).Error; err != nil {
		t.Errorf("DoNothing with a key: %v", err)
	}

	// Without keys, the call must fail if a row may have been left out, because
	// gorm.io/sharding doesn't find rows by a list of keys.
	again := []Order{{UserID: 2, Number: 3, Text: "again"}, {UserID: 2, Number: 4, Text: "new"}}
	err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&again).Error
	if err == nil || !strings.Contains(err.Error(), "cannot be read back") || !strings.Contains(err.Error(), "set the keys before") {
		t.Errorf("DoNothing: %v", err)
	}

	up := Order{UserID: 2, Number: 3, Text: "merged"}
	err = db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "user_id"}, {Name: "number"}}, DoUpdates: clause.AssignmentColumns([]string{"text"})}).Create(&up).Error
	if err != nil || up.ID != batch[2].ID { // RETURNING includes the key
		t.Errorf("DoUpdates: %v, %v, want %v", up.ID, err, batch[2].ID)
	}
	stored(up)
}
