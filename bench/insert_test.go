package main

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/bench/internal/ent"
	_ "github.com/snowkey-go/snowkey/bench/internal/ent/runtime" // registers the mixin's hook
	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// filled and preset are the same rows as in ent's schema.
type (
	filled struct {
		ID          pk.ID
		Name, Email string
		CreatedAt   time.Time
	}
	preset filled
)

// BenchmarkFill inserts single rows into an SQLite file, in turns with our key and with
// one that was made beforehand, without the plugin or hook: "added" is the share of an
// insert that they take. Single inserts vary by more than that, so it compares medians.
func BenchmarkFill(b *testing.B) {
	earlier := full.Named("beforehand")
	idgen.SetDefault(full)
	for _, synchronous := range []string{"FULL", "NORMAL"} {
		db := dbtest.Must(sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "rows.db")+
			"?_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)&_pragma=synchronous("+synchronous+")"))(b)
		db.SetMaxOpenConns(1)
		b.Cleanup(func() { _ = db.Close() })
		for _, orm := range []struct {
			name string
			open func(*testing.B, *sql.DB) (fill func() error, set func(int64) error)
		}{{"GORM", gormRows}, {"ent", entRows}} {
			b.Run(fmt.Sprintf("orm=%s/synchronous=%s", orm.name, synchronous), func(b *testing.B) {
				fill, set := orm.open(b, db)
				var ids []int64
				var took [2][]float64
				for turn := 0; b.Loop(); turn++ {
					if len(ids) == 0 {
						ids = dbtest.Must(earlier.NextN(b.Context(), 1000))(b)
					}
					for i := range took {
						side := (i + turn) % 2
						start := time.Now()
						if side == 0 {
							dbtest.NoError(b, fill())
						} else {
							dbtest.NoError(b, set(ids[0]))
							ids = ids[1:]
						}
						took[side] = append(took[side], time.Since(start).Seconds())
					}
				}
				usual := median(took[1])
				b.ReportMetric(100*(median(took[0])-usual)/usual, "added-%")
				b.ReportMetric(usual*1e6, "µs/row")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func gormRows(b *testing.B, db *sql.DB) (fill func() error, set func(int64) error) {
	open := func() *gorm.DB {
		return dbtest.Must(gorm.Open(&sqlite.Dialector{Conn: db}, &gorm.Config{Logger: logger.Discard}))(b)
	}
	with, without := open(), open()
	dbtest.NoError(b, with.Use(gormid.New(gormid.Config{})))
	dbtest.NoError(b, without.AutoMigrate(&filled{}, &preset{}))
	now := time.Now()
	return func() error {
			return with.Create(&filled{Name: someName, Email: someEmail, CreatedAt: now}).Error
		}, func(id int64) error {
			return without.Create(&preset{ID: pk.ID(id), Name: someName, Email: someEmail, CreatedAt: now}).Error
		}
}

func entRows(b *testing.B, db *sql.DB) (fill func() error, set func(int64) error) {
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db)))
	ctx := b.Context()
	dbtest.NoError(b, client.Schema.Create(ctx))
	now := time.Now()
	return func() error {
			return client.Filled.Create().SetName(someName).SetEmail(someEmail).SetCreatedAt(now).Exec(ctx)
		}, func(id int64) error {
			return client.Preset.Create().SetID(pk.ID(id)).SetName(someName).SetEmail(someEmail).SetCreatedAt(now).Exec(ctx)
		}
}
