package gormid

import (
	"context"
	"reflect"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type iRow struct {
	ID   pk.ID
	Name string
}

func BenchmarkFill(b *testing.B) {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(78), MaxAhead: idgen.NoLimit})
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close(context.Background())
	db, _ := gorm.Open(sqlite.Open("file::memory:"))
	f := &filler{source: pool}
	row := &iRow{}
	tx := db.Session(&gorm.Session{NewDB: true}).Model(row)
	stmt := tx.Statement
	stmt.Dest = row
	stmt.Parse(row)
	stmt.ReflectValue = reflect.ValueOf(row).Elem()
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			pool.Next(context.Background())
		}
	})
	b.Run("fill", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			row.ID = 0
			f.fill(tx)
			f.check(tx)
			f.settle(tx)
		}
	})
}
