package gormid_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/hooks/gormid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type benchRow struct {
	ID   pk.ID
	Name string
}

func benchDB(b *testing.B) (*gorm.DB, *idgen.Pool) {
	b.Helper()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(310), MaxAhead: idgen.NoLimit})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { pool.Close(context.Background()) })
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		b.Fatal(err)
	}
	if err := db.AutoMigrate(&benchRow{}); err != nil {
		b.Fatal(err)
	}
	return db, pool
}

// BenchmarkCreate measures a complete INSERT without and with the plugin. With more
// rows, we would only measure the driver, which takes quadratic time to bind
// parameters.
func BenchmarkCreate(b *testing.B) {
	for _, n := range []int{1, 50} {
		b.Run(fmt.Sprintf("rows=%d/preset", n), func(b *testing.B) {
			db, pool := benchDB(b)
			b.ReportAllocs()
			for b.Loop() {
				list := make([]benchRow, n)
				ids, err := pool.NextN(b.Context(), n)
				if err != nil {
					b.Fatal(err)
				}
				for i := range list {
					list[i].ID = pk.ID(ids[i])
				}
				if err := db.Create(&list).Error; err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("rows=%d/filled", n), func(b *testing.B) {
			db, pool := benchDB(b)
			if err := db.Use(gormid.New(gormid.Config{Source: pool})); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				list := make([]benchRow, n)
				if err := db.Create(&list).Error; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
