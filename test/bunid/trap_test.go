package bunid_test

import (
	"context"
	"testing"

	"github.com/uptrace/bun"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// These tests run bun without this package. Keys come either from the database, or from
// a BeforeAppendModel hook, which is the usual way. The tests demonstrate the faults
// that the package prevents, so if one of them fails, a new version of bun has fixed
// the fault.

// byHook fills in its key in a hook.
type byHook struct {
	ID   int64  `bun:",pk"`
	Name string `bun:",unique"`
}

var lastByHook int64 = 1 << 60

func (h *byHook) BeforeAppendModel(_ context.Context, q bun.Query) error {
	if _, ok := q.(*bun.InsertQuery); ok && h.ID == 0 {
		lastByHook++
		h.ID = lastByHook
	}
	return nil
}

// numbered has an auto-increment key.
type numbered struct {
	ID   int64 `bun:",pk,autoincrement"`
	Name string
}

func TestTraps(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, about dbtest.DB) {
		e := bare(t, about, (*byHook)(nil), (*numbered)(nil))
		ctx := t.Context()
		e.insert(t, &byHook{ID: int64(idA), Name: "taken"})

		t.Run("a row left out has a key", func(t *testing.T) {
			h := byHook{Name: "taken"}
			if _, err := e.NewInsert().Model(&h).Ignore().Exec(ctx); err != nil || h.ID == 0 || h.ID == int64(idA) {
				t.Errorf("no ghost: %v, %v", h, err)
			}
		})
		t.Run("a merged row has a key of its own", func(t *testing.T) {
			h := byHook{Name: "taken"}
			q := e.NewInsert().Model(&h).On("CONFLICT (name) DO UPDATE")
			if about.Dialect == "mysql" {
				q.On("DUPLICATE KEY UPDATE")
			}
			if _, err := q.Exec(ctx); err != nil || h.ID == 0 || h.ID == int64(idA) {
				t.Errorf("no ghost: %v, %v", h, err)
			}
		})
		t.Run("keys of some rows go to others", func(t *testing.T) {
			if e.isMySQL() {
				return // it has no RETURNING
			}
			hs := []byHook{{ID: 1, Name: "a"}, {ID: 2, Name: "taken"}, {ID: 3, Name: "b"}}
			if _, err := e.NewInsert().Model(&hs).Ignore().Returning("id").Exec(ctx); err != nil {
				t.Fatal(err)
			}
			if hs[1] != (byHook{ID: 3, Name: "taken"}) {
				t.Errorf("the slice holds %v", hs)
			}
		})
		t.Run("maps have no hooks", func(t *testing.T) {
			m := map[string]any{"name": "map", "id": 0}
			if _, err := e.NewInsert().Model(&m).Table("by_hooks").Exec(ctx); err != nil {
				t.Fatal(err)
			}
			e.wantTable(t, "SELECT id FROM by_hooks WHERE name = 'map'", "0")
			e.exec(t, "DELETE FROM by_hooks WHERE name = 'map'")
		})
		t.Run("values have no hooks", func(t *testing.T) {
			if about.Dialect == "mysql" {
				return // MySQL doesn't allow INSERT after WITH
			}
			_, err := e.NewInsert().With("data", e.NewValues(&[]byHook{{Name: "values"}})).Model((*byHook)(nil)).Table("data").Exec(ctx)
			if err != nil {
				t.Fatal(err)
			}
			e.wantTable(t, "SELECT id FROM by_hooks WHERE name = 'values'", "0")
		})
		t.Run("Column drops the key", func(t *testing.T) {
			h := byHook{Name: "selected"}
			_, err := e.NewInsert().Model(&h).Column("name").Exec(ctx)
			// Postgres and MySQL have no value for the column, whereas SQLite makes one
			// up.
			if got := e.table(t, "SELECT id FROM by_hooks WHERE name = 'selected'"); err == nil && got[0] == line(h.ID) {
				t.Errorf("the key is there: %d", h.ID)
			}
		})
		t.Run("keys of autoincrement are rewritten", func(t *testing.T) {
			if !e.isMySQL() {
				return
			}
			ns := []numbered{{ID: int64(idB), Name: "a"}, {ID: int64(idA), Name: "b"}, {Name: "c"}}
			if _, err := e.NewInsert().Model(&ns).Exec(ctx); err != nil {
				t.Fatal(err)
			}
			if ns[0].ID == int64(idB) && ns[1].ID == int64(idA) {
				t.Errorf("the keys are still there: %v", ns)
			}
		})
		t.Run("a nil pointer panics", func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			e.NewInsert().Model((*numbered)(nil)).Exec(ctx)
		})
	})
}
