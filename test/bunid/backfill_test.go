package bunid_test

import (
	"context"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// TestBackfill: keys have the times of their rows, also if the rows are merged with others. An
// error names the row. Package fill tests which fields have times.
func TestBackfill(t *testing.T) {
	type order struct {
		sourced
		ID        pk.ID `bun:",pk"`
		Old       int64 `bun:",unique"`
		CreatedAt bun.NullTime
	}
	e := open(t, dbtest.SQLite(t), (*order)(nil))
	b := dbtest.Must(idgen.NewBackfill(idgen.BackfillConfig{Worker: 900}))(t)
	ctx := context.WithValue(t.Context(), sourceKey{}, b)
	at := func(hours int) bun.NullTime {
		return bun.NullTime{Time: time.Date(2025, 3, 4, hours, 6, 7, 0, time.UTC)}
	}
	want := func(o *order, at bun.NullTime) {
		t.Helper()
		if got := b.Config().Layout.Decode(o.ID.Int64()).Time; !got.Equal(at.Time) {
			t.Errorf("%d has the time %v, want %v", o.ID, got, at)
		}
	}

	rows := []*order{{Old: 1, CreatedAt: at(2)}, {ID: idA, Old: 2}, {Old: 3, CreatedAt: at(1)}}
	dbtest.Must(e.NewInsert().Model(&rows).Exec(ctx))(t)
	want(rows[0], at(2))
	want(rows[2], at(1))
	if rows[1].ID != idA {
		t.Errorf("the key %d has become %d", idA, rows[1].ID)
	}
	same := order{Old: 3, CreatedAt: at(3)}
	dbtest.Must(e.NewInsert().Model(&same).On("CONFLICT (old) DO UPDATE").Set("created_at = EXCLUDED.created_at").Returning("*").Exec(ctx))(t)
	if same.ID != rows[2].ID {
		t.Errorf("the upsert has the key %d, and the row %d", same.ID, rows[2].ID)
	}
	first, last := b.Config().Layout.Between(at(1).Time, at(2).Time)
	var early []order
	if err := e.NewSelect().Model(&early).Where("id BETWEEN ? AND ?", first, last).Scan(ctx); err != nil || len(early) != 1 || early[0].ID != same.ID {
		t.Errorf("of the first hour: %v, %v", early, err)
	}
	filled := []order{{CreatedAt: at(4)}}
	dbtest.NoError(t, bunid.FillRows(ctx, e.DB, &filled, b))
	want(&filled[0], at(4))

	late := []order{{Old: 4, CreatedAt: at(5)}, {ID: idB, Old: 5}, {Old: 6}}
	_, err := e.NewInsert().Model(&late).Exec(ctx)
	idtest.WantRowError(t, err, 2, "has no time in CreatedAt")
	if late[0].ID != 0 {
		t.Errorf("the first row got the key %d", late[0].ID)
	}
	type timeless struct {
		ID pk.ID `bun:",pk"`
	}
	idtest.WantRowError(t, bunid.FillRows(ctx, e.DB, new(timeless), b), 0, "has no time in CreatedAt")
}
