//go:build clients

package entid_test

import (
	"context"
	"strconv"
	"testing"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"

	entbase "entgo.io/ent"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
)

func benchPool(b *testing.B) *idgen.Pool {
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(11), MaxAhead: idgen.NoLimit})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { pool.Close(context.Background()) })
	return pool
}

// BenchmarkHook measures what filling in keys adds to a create.
func BenchmarkHook(b *testing.B) {
	hook := entid.Hook(benchPool(b))
	inserted := entbase.MutateFunc(func(context.Context, entbase.Mutation) (entbase.Value, error) { return nil, nil })
	c := ent.NewClient()
	ctx := b.Context()
	b.Run("ID", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			hook(inserted).Mutate(ctx, c.User.Create().Mutation())
		}
	})
	b.Run("Of", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			hook(inserted).Mutate(ctx, c.Card.Create().Mutation())
		}
	})
	b.Run("none", func(b *testing.B) { // the part of the above that is due to ent
		b.ReportAllocs()
		for b.Loop() {
			inserted.Mutate(ctx, c.User.Create().Mutation())
		}
	})
}

// BenchmarkCreate measures a complete create, for comparison.
func BenchmarkCreate(b *testing.B) {
	db := dbtest.SQLite(b)
	c := ent.NewClient(ent.Driver(sql.OpenDB(dialect.SQLite, db.Connect(b))))
	if err := c.Schema.Create(b.Context()); err != nil {
		b.Fatal(err)
	}
	c.Use(entid.Hook(benchPool(b)))
	for i := 0; b.Loop(); i++ {
		c.User.Create().SetName(strconv.Itoa(i)).ExecX(b.Context())
	}
}
