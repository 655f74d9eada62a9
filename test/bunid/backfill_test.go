package bunid_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/hooks/bunid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

type backfillKey struct{}

// An order takes its key from its time.
type order struct {
	ID        pk.ID `bun:",pk"`
	Old       int64 `bun:",unique"`
	CreatedAt bun.NullTime
}

func (*order) BeforeInsert(ctx context.Context, q *bun.InsertQuery) error {
	b, _ := ctx.Value(backfillKey{}).(*idgen.Backfill)
	return bunid.Fill(ctx, q, b)
}

func TestBackfill(t *testing.T) {
	eachWith(t, []any{(*order)(nil)}, func(t *testing.T, e *env) {
		b := dbtest.Must(idgen.NewBackfill(idgen.BackfillConfig{Worker: 900}))(t)
		ctx := context.WithValue(t.Context(), backfillKey{}, b)
		day := bun.NullTime{Time: time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)}
		timeOf := func(id pk.ID) time.Time { return b.Config().Layout.Decode(id.Int64()).Time }

		rows := []*order{{Old: 1, CreatedAt: bun.NullTime{Time: day.Add(time.Hour)}}, {ID: idA, Old: 2}, {Old: 3, CreatedAt: day}}
		dbtest.Must(e.NewInsert().Model(&rows).Exec(ctx))(t)
		if !timeOf(rows[0].ID).Equal(day.Add(time.Hour)) || rows[1].ID != idA || !timeOf(rows[2].ID).Equal(day.Time) {
			t.Errorf("%+v, %+v, %+v", rows[0], rows[1], rows[2])
		}
		if e.about.Dialect != "mysql" { // which does not return keys of an upsert
			same := order{Old: 3, CreatedAt: bun.NullTime{Time: day.Add(2 * time.Hour)}}
			dbtest.Must(e.NewInsert().Model(&same).On("CONFLICT (old) DO UPDATE").Set("created_at = EXCLUDED.created_at").Returning("*").Exec(ctx))(t)
			if same.ID != rows[2].ID {
				t.Errorf("the upsert has the key %d, and the row %d", same.ID, rows[2].ID)
			}
		}
		filled := []order{{CreatedAt: bun.NullTime{Time: day.Add(3 * time.Hour)}}}
		dbtest.NoError(t, bunid.FillRows(ctx, e.DB, &filled, b))
		if !timeOf(filled[0].ID).Equal(day.Add(3 * time.Hour)) {
			t.Errorf("%+v", filled)
		}

		late := []order{{Old: 4, CreatedAt: bun.NullTime{Time: day.Add(4 * time.Hour)}}, {ID: idB, Old: 5}, {Old: 6}}
		_, err := e.NewInsert().Model(&late).Exec(ctx)
		if of, ok := errors.AsType[*bunid.RowError](err); !ok || of.Row != 2 || late[0].ID != 0 {
			t.Errorf("%v, %+v", err, late)
		}
		type plain struct {
			ID pk.ID `bun:",pk"`
		}
		if err := bunid.FillRows(ctx, e.DB, &plain{}, b); err == nil {
			t.Error("a row without the field has a key")
		}
	})
}
