//go:build clients

package entid_test

import (
	"context"
	"testing"

	"entgo.io/ent/dialect/sql"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/user"
)

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
			if err != nil {
				t.Fatal(err)
			}
			d := c.User.Query().Where(user.Name("d")).OnlyX(ctx)
			if n := d.QueryFollows().CountX(ctx); n != 2 {
				t.Errorf("d follows %d tags, want both, its own and c's", n)
			}
		})
	})
}

// TestEntReports reproduces reports about bulk creates.
func TestEntReports(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		c.Use(entid.Hook(new(idtest.Source)))
		// https://github.com/ent/ent/issues/3412: each row of a bulk create got the same default id, and
		// no error.
		us := c.User.CreateBulk(c.User.Create().SetName("a"), c.User.Create().SetName("b")).SaveX(ctx)
		c.wantRows(t, "SELECT id FROM users ORDER BY name", texts(us[0].ID, us[1].ID)...)
		if err := c.User.CreateBulk(c.User.Create().SetName("c"), c.User.Create().SetName("a")).Exec(ctx); !ent.IsConstraintError(err) {
			t.Errorf("a name that is taken: %v", err)
		}
		// https://github.com/ent/ent/issues/2711: ent refuses a bulk upsert in which some rows have an id.
		c.User.CreateBulk(c.User.Create().SetID(us[0].ID).SetName("a").SetAge(7), c.User.Create().SetName("d")).
			OnConflictColumns(user.FieldID).UpdateNewValues().ExecX(ctx)
		c.wantRows(t, "SELECT id FROM users WHERE name = 'a' AND age = 7", us[0].ID.String())
		c.wantRows(t, "SELECT name FROM users ORDER BY name", "a", "b", "d")
	})
}
