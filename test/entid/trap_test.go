//go:build clients

package entid_test

import (
	"context"
	"strings"
	"testing"

	"entgo.io/ent/dialect/sql"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/user"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// These tests show the faults that package entid prevents, using a schema without it.
// If one of them fails, ent has changed, and one of our rules may no longer be
// necessary.

func eachTrap(t *testing.T, test func(t *testing.T, c client)) {
	reuse.Each(t, func(t *testing.T, db dbtest.DB) { test(t, open(t, db, traps)) })
}

// On MySQL, ent assigns the ids LastInsertId, LastInsertId+1 and so on to the rows of a
// bulk create. If we set the keys of an AUTO_INCREMENT column ourselves, LastInsertId
// is the last one of these, so each row ends up with the id of another row.
func TestNumericKey(t *testing.T) {
	eachTrap(t, func(t *testing.T, c client) {
		ctx := t.Context()
		box := c.Box.Create().SetName("box").SaveX(ctx)
		items := c.Item.CreateBulk(
			c.Item.Create().SetName("a").SetID(low).AddBoxes(box),
			c.Item.Create().SetName("b").SetID(high),
		).SaveX(ctx)
		c.wantRows(t, "SELECT id FROM items ORDER BY id", texts[pk.ID](low, high)...)
		if c.db.Dialect != "mysql" {
			c.wantRows(t, "SELECT item_id FROM item_boxes", pk.ID(low).String())
			return
		}
		if a, b := items[0].ID, items[1].ID; a != high || b != high+1 {
			t.Errorf("a and b are %d and %d in memory, want %d and %d", a, b, int64(high), int64(high+1))
		}
		c.wantRows(t, "SELECT item_id FROM item_boxes", pk.ID(high).String()) // the box of a belongs to b
	})
}

// If the column doesn't have AUTO_INCREMENT, LastInsertId is 0, which the hook reports.
func TestNumericKeyWithoutIncrement(t *testing.T) {
	eachTrap(t, func(t *testing.T, c client) {
		boxes, err := c.Box.CreateBulk(c.Box.Create().SetName("a"), c.Box.Create().SetName("b")).Save(t.Context())
		if c.db.Dialect != "mysql" {
			if err != nil || boxes[0].ID == 0 || boxes[1].ID <= boxes[0].ID {
				t.Errorf("got %v, %v", boxes, err)
			}
			return
		}
		idtest.WantFieldError(t, err, "id", "was inserted but came back as 0")
		if boxes != nil {
			t.Errorf("got %v", boxes)
		}
	})
}

// A key with fewer than 64 bits must be refused before anything is written, regardless
// of whether it would be filled in by a mixin or a hook. We ignore ent's own keys.
func TestNarrowKey(t *testing.T) {
	eachTrap(t, func(t *testing.T, c client) {
		ctx := t.Context()
		src := new(idtest.Source)
		c.Use(entid.Hook(src))
		for name, create := range map[string]func() error{
			"create": func() error { return c.Shelf.Create().SetName("a").Exec(ctx) },
			"bulk":   func() error { return c.Shelf.CreateBulk(c.Shelf.Create().SetName("a")).Exec(ctx) },
			"preset": func() error { return c.Shelf.Create().SetName("a").SetID(1).Exec(ctx) },
		} {
			err := create()
			idtest.WantFieldError(t, err, "id (int32)", "is not of the type that the mixin fills, pk.ID")
			if !strings.HasPrefix(err.Error(), "entid: Shelf.id (int32) ") {
				t.Errorf("%s: the error is %q", name, err)
			}
		}
		c.wantRows(t, "SELECT id FROM shelves")

		plains := c.Plain.CreateBulk(c.Plain.Create().SetName("a"), c.Plain.Create().SetName("b")).SaveX(ctx)
		if plains[0].ID != 1 || plains[1].ID != 2 || src.Calls() != 0 {
			t.Errorf("ent's own keys are %v after %d ids were drawn", plains, src.Calls())
		}
	})
}

// If a key is a foreign key as well, ent fills it in. With the mixin the row then has
// two keys, which Postgres and MySQL refuse, whereas SQLite stores the foreign key.
func TestForeignKeyAsKey(t *testing.T) {
	eachTrap(t, func(t *testing.T, c client) {
		ctx := t.Context()
		box := c.Box.Create().SetName("box").SaveX(ctx)
		err := c.Twin.Create().SetName("a").SetBox(box).Exec(ctx)
		if c.db.Dialect == "sqlite" {
			c.wantRows(t, "SELECT id FROM twins", box.ID.String())
		} else if err == nil {
			t.Error("a row with two keys was accepted")
		}
	})
}

// Check must accept the tables that ent creates for this schema, too.
func TestCheckFitsNumericKeys(t *testing.T) {
	eachTrap(t, func(t *testing.T, c client) {
		// On SQLite, a numeric id counts regardless of its annotation.
		want := map[string]string{"sqlite": "blocker:still-counts:boxes.id"}[c.db.Dialect]
		if got := idtest.Findings(t, entid.Check(t.Context(), c.sql, traps...)); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	})
}

// The documentation of package entid lists these faults of ent, which a hook can't
// detect. If a test fails, the corresponding warning should be removed.
func TestUpsertHazards(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		c.Use(entid.Hook(new(idtest.Source)))
		tags := c.Tag.CreateBulk(c.Tag.Create().SetName("x"), c.Tag.Create().SetName("y")).SaveX(ctx)

		t.Run("raw ResolveWithNewValues replaces the id of the row", func(t *testing.T) {
			a := c.User.Create().SetName("a").SaveX(ctx).ID
			c.User.Create().SetName("a").OnConflict(sql.ConflictColumns(user.FieldName), sql.ResolveWithNewValues()).ExecX(ctx)
			c.wantRows(t, "SELECT id FROM users WHERE name = 'a'", (a + 1).String())
		})

		t.Run("hooks see the id that was proposed", func(t *testing.T) {
			var seen pk.ID
			c.User.Use(func(next ent.Mutator) ent.Mutator {
				return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
					v, err := next.Mutate(ctx, m)
					seen, _ = m.(*ent.UserMutation).ID()
					return v, err
				})
			})
			b := c.User.Create().SetName("b").SaveX(ctx).ID
			c.User.CreateBulk(c.User.Create().SetName("b")).OnConflictColumns(user.FieldName).UpdateNewValues().ExecX(ctx)
			if seen != b+1 {
				t.Errorf("in bulk a hook sees %v, want %v for the row %v", seen, b+1, b)
			}
			c.User.Create().SetName("b").OnConflictColumns(user.FieldName).UpdateNewValues().ExecX(ctx)
			if want := map[string]pk.ID{"mysql": b + 2, "postgres": b, "sqlite": b}[c.db.Dialect]; seen != want {
				t.Errorf("a hook sees %v, want %v for the row %v", seen, want, b)
			}
		})

		t.Run("DoNothing in bulk mixes the edges up", func(t *testing.T) {
			c.User.Create().SetName("c").ExecX(ctx)
			err := c.User.CreateBulk(
				c.User.Create().SetName("c").AddFollows(tags[0]),
				c.User.Create().SetName("d").AddFollows(tags[1]),
			).OnConflictColumns(user.FieldName).DoNothing().Exec(ctx)
			if c.db.Dialect == "mysql" {
				if !ent.IsConstraintError(err) {
					t.Errorf("got %v, want the foreign key to refuse an id that no row has", err)
				}
				return
			}
			dbtest.NoError(t, err)
			d := c.User.Query().Where(user.Name("d")).OnlyX(ctx)
			if n := d.QueryFollows().CountX(ctx); n != 2 {
				t.Errorf("d follows %d tags, want both, its own and c's", n)
			}
		})
	})
}

// ent refuses a bulk upsert in which some rows have an id, unless a hook fills those of the others:
// https://github.com/ent/ent/issues/2711.
func TestBulkUpsertWithSomeIDs(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		a := c.User.Create().SetName("a").SaveX(ctx).ID
		c.User.CreateBulk(c.User.Create().SetID(a).SetName("a").SetAge(7), c.User.Create().SetName("b")).
			OnConflictColumns(user.FieldID).UpdateNewValues().ExecX(ctx)
		c.wantRows(t, "SELECT id FROM users WHERE name = 'a' AND age = 7", a.String())
		c.wantRows(t, "SELECT name FROM users ORDER BY name", "a", "b")
	})
}
