package gormid

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/utils/tests"

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
	db, err := gorm.Open(tests.DummyDialector{}, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		b.Fatal(err)
	}
	return db, pool
}

// BenchmarkCallbacks is what the plugin adds to one INSERT, drawing included.
func BenchmarkCallbacks(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			db, pool := benchDB(b)
			f := &filler{source: pool}
			list := make([]benchRow, n)
			tx := db.Model(&list)
			stmt := tx.Statement
			stmt.Dest = &list
			if err := stmt.Parse(&list); err != nil {
				b.Fatal(err)
			}
			stmt.ReflectValue = reflect.ValueOf(&list).Elem()
			b.ReportAllocs()
			for b.Loop() {
				clear(list)
				f.fill(tx)
				f.check(tx)
				f.settle(tx)
			}
			if tx.Error != nil {
				b.Fatal(tx.Error)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
		})
	}
}
