package bunid_test

import (
	"context"
	"testing"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// For a single row, this package must not need more than ten additional allocations.
func TestInsertAllocations(t *testing.T) {
	pool := dbtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(331), MaxAhead: idgen.NoLimit}))(t)
	defer pool.Close(t.Context())
	e := bare(t, dbtest.SQLite(t), (*genre)(nil))
	ctx := context.WithValue(t.Context(), sourceKey{}, pool)
	type presetGenre struct {
		bun.BaseModel `bun:"table:genres"`
		ID            pk.ID `bun:",pk" snowkey:"-"`
	}
	id := pk.ID(0)
	without := testing.AllocsPerRun(200, func() {
		id++
		dbtest.Must(e.NewInsert().Model(&presetGenre{ID: id}).Exec(ctx))(t)
	})
	e.use(t, (*genre)(nil))
	with := testing.AllocsPerRun(200, func() {
		dbtest.Must(e.NewInsert().Model(new(genre)).Exec(ctx))(t)
	})
	if with > without+10 {
		t.Errorf("%.0f allocations, and %.0f without", with, without)
	}
}
