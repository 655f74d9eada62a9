package bunid_test

import (
	"context"
	"testing"

	"github.com/uptrace/bun"

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

// For a single row, this package must not need more than ten additional allocations.
func TestInsertAllocations(t *testing.T) {
	pool := dbtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(331), MaxAhead: idgen.NoLimit}))(t)
	defer pool.Close(t.Context())
	e := bare(t, dbtest.SQLite(t))
	ctx := context.WithValue(t.Context(), sourceKey{}, pool)
	dbtest.Must(e.NewCreateTable().Model((*benchRow)(nil)).Exec(ctx))(t)
	db := dbtest.Must(bunid.Use(e.DB, (*benchRow)(nil)))(t)
	id := pk.ID(0)
	without := testing.AllocsPerRun(200, func() {
		id++
		dbtest.Must(e.NewInsert().Model(&presetRow{ID: id}).Exec(ctx))(t)
	})
	with := testing.AllocsPerRun(200, func() {
		dbtest.Must(db.NewInsert().Model(new(benchRow)).Exec(ctx))(t)
	})
	if with > without+10 {
		t.Errorf("%.0f allocations, and %.0f without", with, without)
	}
}
