//go:build clients

package entid_test

import (
	"context"
	"testing"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
)

// A client's hook runs before the hooks of mixins, which then keep the id. It fills in
// keys no matter if the entity has a mixin. Package matrix tries all types.
func TestHook(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		src := new(idtest.Source)
		c.Use(entid.Hook(src))
		a, b := c.User.Create().SetName("a").SaveX(ctx).ID, c.Event.Create().SetKind("b").SaveX(ctx).ID
		events := c.Event.CreateBulk(c.Event.Create().SetKind("1"), c.Event.Create().SetKind("2").SetID(low-1), c.Event.Create().SetKind("3")).SaveX(ctx)
		if a != low || b != high || events[0].ID != low+2 || events[1].ID != low-1 || events[2].ID != low+3 {
			t.Errorf("the ids are %d, %d and, around a preset, %v", a, b, events)
		}
		// Updates and deletes must not draw any ids.
		c.User.Update().SetAge(5).ExecX(ctx)
		c.User.UpdateOneID(pk.ID(low)).SetAge(6).ExecX(ctx)
		c.User.Delete().ExecX(ctx)
		if src.Calls() != 4 {
			t.Errorf("%d ids were drawn for 4 rows", src.Calls())
		}
	})
}

// The hook of one entity must not fill in the keys of another.
func TestHookOfOneEntity(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		src := new(idtest.Source)
		c.Tag.Use(entid.Hook(src))
		if id := c.Tag.Create().SetName("a").SaveX(ctx).ID; id != low {
			t.Errorf("the tag got %d, want %d", id, int64(low))
		}
		if id := c.User.Create().SetName("a").SaveX(ctx).ID; id == 0 || src.Calls() != 1 {
			t.Errorf("the user got %d and the source was asked %d times", id, src.Calls())
		}
	})
}

// Hooks of the schema and of the client must see the id if they run later.
func TestHookOrder(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		var before, after pk.ID
		c.Use(entid.Hook(new(idtest.Source)), func(next ent.Mutator) ent.Mutator {
			return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
				before, _ = m.(*ent.UserMutation).ID()
				v, err := next.Mutate(ctx, m)
				after, _ = m.(*ent.UserMutation).ID()
				return v, err
			})
		})
		c.User.Create().SetName("a").ExecX(t.Context())
		if before != low || after != low {
			t.Errorf("a later hook sees %d before and %d after, want %d", before, after, int64(low))
		}
	})
}

// A policy, and a mixin that is listed before entid.Mixin, run before the mixin's hook. They
// see the id if a hook of the client fills it.
func TestHookBeforePolicy(t *testing.T) {
	c := open(t, dbtest.SQLite(t), traps)
	for _, name := range []string{"policy", "mixin"} {
		if err := c.Secret.Create().SetName(name).Exec(t.Context()); err == nil || err.Error() != "no id for the "+name {
			t.Errorf("got %v", err)
		}
	}
	c.Use(entid.Hook(nil))
	for _, name := range []string{"policy", "mixin"} {
		c.Secret.Create().SetName(name).ExecX(t.Context())
	}
}

// To ent's templates, a key is a field of type Other with a Go type of package pk.
func TestTemplate(t *testing.T) {
	for field, want := range map[string]string{"Post.author_id": "key", "Tagging.post_id": "key", "Post.title": "text", "User.age": "number"} {
		if got := ent.Inputs[field]; got != want {
			t.Errorf("the input for %s is %q, want %q", field, got, want)
		}
	}
}
