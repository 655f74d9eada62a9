package fill_test

import (
	"database/sql"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/fill"
)

func TestAt(t *testing.T) {
	layout := idgen.DefaultLayout()
	day := layout.Epoch().Add(24 * time.Hour)
	type embedded struct{ CreatedAt time.Time }
	type nullTime struct{ time.Time } // as bun's
	rows := []any{
		struct{ CreatedAt time.Time }{day},
		struct{ CreatedAt *time.Time }{&day},
		struct{ CreatedAt sql.NullTime }{sql.NullTime{Time: day, Valid: true}},
		struct{ CreatedAt sql.Null[time.Time] }{sql.Null[time.Time]{V: day, Valid: true}},
		struct{ CreatedAt nullTime }{nullTime{day}},
		struct{ embedded }{embedded{day}},
		struct{ CreatedAt time.Time }{day.In(time.FixedZone("", 3600))},
		// These have no time.
		struct{ CreatedAt time.Time }{},
		struct{ CreatedAt *time.Time }{},
		struct{ CreatedAt *sql.NullTime }{},
		struct{ CreatedAt sql.NullTime }{},
		struct{ CreatedAt int64 }{day.Unix()},
		struct{ createdAt time.Time }{day},
		struct{ *embedded }{},
		struct{}{},
	}
	const good = 7
	valueOf := func(row int, field string) any { return fill.FieldOf(reflect.ValueOf(rows[row]), field) }
	k := fill.Key{Package: "p", Model: "m"}
	b, err := idgen.NewBackfill(idgen.BackfillConfig{Worker: 5})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := k.At(b, []int{0, 1, 2, 3, 4, 5, 6}, valueOf)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		if !layout.Decode(id).Time.Equal(day) || id != ids[0]+int64(i) {
			t.Errorf("row %d has the id %d of %v", i, id, layout.Decode(id).Time)
		}
	}
	for row := good; row < len(rows); row++ {
		ids, err := k.At(b, []int{0, row}, valueOf)
		of, ok := errors.AsType[*fill.RowError](err)
		if !ok || of.Row != row || of.Problem != "has no time in CreatedAt, which an *idgen.Backfill needs" || ids != nil {
			t.Errorf("row %d: %v, %v", row, ids, err)
		}
	}

	// An error of the backfill has the row of the call, not of those without a key.
	rows[3] = struct{ CreatedAt time.Time }{layout.Epoch().Add(-time.Hour)}
	_, err = k.At(b, []int{0, 3}, valueOf)
	const want = "p: row 3 of m got no key: idgen: 2024-12-31T23:00:00Z is outside the layout's lifetime (2025-01-01T00:00:00Z to 2094-09-07T15:47:35Z); use a layout with another epoch or more time bits; nothing was changed"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}

	// Generators by name, and models, are tables of their own.
	other := fill.Key{Package: "p", Model: "m", Generator: "orders"}
	if again, err := other.At(b, []int{0}, valueOf); err != nil || again[0] != ids[0] {
		t.Errorf("got %v, %v; want %d", again, err, ids[0])
	}

	b, err = idgen.NewBackfill(idgen.BackfillConfig{Worker: 5, Field: "PostedAt"})
	if err != nil {
		t.Fatal(err)
	}
	posted := func(_ int, field string) any {
		return fill.FieldOf(reflect.ValueOf(struct{ PostedAt, CreatedAt time.Time }{PostedAt: day}), field)
	}
	if again, err := k.At(b, []int{0}, posted); err != nil || again[0] != ids[0] {
		t.Errorf("got %v, %v; want %d", again, err, ids[0])
	}
}
