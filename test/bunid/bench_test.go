package bunid_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type (
	benchRow struct {
		bun.BaseModel `bun:"table:rows"`
		sourced
		ID   pk.ID `bun:",pk"`
		Name string
	}
	presetRow struct {
		bun.BaseModel `bun:"table:rows"`
		ID            pk.ID `bun:",pk" snowkey:"-"`
		Name          string
	}
)

func benchDB(b *testing.B) (*bun.DB, *idgen.Pool, context.Context) {
	b.Helper()
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(330), MaxAhead: idgen.NoLimit})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { pool.Close(context.Background()) })
	conn, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		b.Fatal(err)
	}
	conn.SetMaxOpenConns(1)
	b.Cleanup(func() { conn.Close() })
	db := bun.NewDB(conn, sqlitedialect.New())
	if _, err := db.NewCreateTable().Model((*benchRow)(nil)).Exec(b.Context()); err != nil {
		b.Fatal(err)
	}
	return db, pool, context.WithValue(b.Context(), sourceKey{}, pool)
}

// BenchmarkFill measures what the hook adds to one INSERT, which includes drawing the
// keys.
func BenchmarkFill(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			db, pool, ctx := benchDB(b)
			list := make([]benchRow, n)
			q := db.NewInsert().Model(&list)
			b.ReportAllocs()
			for b.Loop() {
				clear(list)
				if err := bunid.Fill(ctx, q, pool); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
		})
	}
}

// For a single row, this package must not need more than ten additional allocations.
func TestInsertAllocations(t *testing.T) {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(331), MaxAhead: idgen.NoLimit})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close(t.Context())
	e := bare(t, dbtest.SQLite(t))
	ctx := context.WithValue(t.Context(), sourceKey{}, pool)
	if _, err := e.NewCreateTable().Model((*benchRow)(nil)).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	db, err := bunid.Use(e.DB, (*benchRow)(nil))
	if err != nil {
		t.Fatal(err)
	}
	id := pk.ID(0)
	without := testing.AllocsPerRun(200, func() {
		id++
		if _, err := e.NewInsert().Model(&presetRow{ID: id}).Exec(ctx); err != nil {
			t.Fatal(err)
		}
	})
	with := testing.AllocsPerRun(200, func() {
		if _, err := db.NewInsert().Model(new(benchRow)).Exec(ctx); err != nil {
			t.Fatal(err)
		}
	})
	if with > without+10 {
		t.Errorf("%.0f allocations, and %.0f without", with, without)
	}
}

// BenchmarkInsert measures a complete INSERT, once with hook and guard, and once
// without them and with keys that were set beforehand.
func BenchmarkInsert(b *testing.B) {
	for _, n := range []int{1, 50} {
		b.Run(fmt.Sprintf("rows=%d/preset", n), func(b *testing.B) {
			db, pool, ctx := benchDB(b)
			b.ReportAllocs()
			for b.Loop() {
				list := make([]presetRow, n)
				ids, err := pool.NextN(ctx, n)
				if err != nil {
					b.Fatal(err)
				}
				for i := range list {
					list[i].ID = pk.ID(ids[i])
				}
				if _, err := db.NewInsert().Model(&list).Exec(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("rows=%d/filled", n), func(b *testing.B) {
			db, _, ctx := benchDB(b)
			db, err := bunid.Use(db, (*benchRow)(nil))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				list := make([]benchRow, n)
				if _, err := db.NewInsert().Model(&list).Exec(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
