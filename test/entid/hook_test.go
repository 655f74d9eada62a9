//go:build clients

package entid_test

import (
	"context"
	"errors"
	"testing"

	"entgo.io/ent/dialect/sql"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
)

// A client's hook runs before the hooks of mixins, which then keep the id. It fills in
// keys of all types, no matter if the entity has a mixin.
func TestHook(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		src := newCounter()
		c.Use(entid.Hook(src))
		got := []int64{
			c.User.Create().SetName("a").SaveX(ctx).ID.Int64(),
			c.Post.Create().SetTitle("b").SaveX(ctx).ID.Int64(),
			c.Card.Create().SetNumber("c").SaveX(ctx).ID.Int64(),
			c.Event.Create().SetKind("d").SaveX(ctx).ID.Int64(),
			c.Note.Create().SetText("e").SaveX(ctx).ID.Int64(),
			c.Label.Create().SetName("f").SaveX(ctx).ID.Int64(),
		}
		for i, id := range got {
			if id != low+int64(i) {
				t.Errorf("the ids are %v, want neighbours from %d", got, int64(low))
				break
			}
		}
		events := c.Event.CreateBulk(c.Event.Create().SetKind("1"), c.Event.Create().SetKind("2").SetID(low-1), c.Event.Create().SetKind("3")).SaveX(ctx)
		if a, b, d := events[0].ID, events[1].ID, events[2].ID; a != low+6 || b != low-1 || d != low+7 {
			t.Errorf("a bulk around a preset got %d, %d, %d", a, b, d)
		}
		if src.nexts != len(got)+2 {
			t.Errorf("%d ids were drawn for %d rows", src.nexts, len(got)+2)
		}

		// Updates and deletes must not draw any ids.
		c.User.Update().SetAge(5).ExecX(ctx)
		c.User.UpdateOneID(pk.ID(low)).SetAge(6).ExecX(ctx)
		c.User.Delete().ExecX(ctx)
		if src.nexts != len(got)+2 {
			t.Errorf("an update or delete drew an id")
		}
	})
}

// The hook of one entity must not fill in the keys of another.
func TestHookOfOneEntity(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		src := newCounter()
		c.Tag.Use(entid.Hook(src))
		if id := c.Tag.Create().SetName("a").SaveX(ctx).ID; id != low {
			t.Errorf("the tag got %d, want %d", id, int64(low))
		}
		if id := c.User.Create().SetName("a").SaveX(ctx).ID; id == 0 || src.nexts != 1 {
			t.Errorf("the user got %d and the source was asked %d times", id, src.nexts)
		}
	})
}

// Hooks of the schema and of the client must see the id if they run later.
func TestHookOrder(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		var before, after pk.ID
		c.Use(entid.Hook(newCounter()), func(next ent.Mutator) ent.Mutator {
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

// A hook without a source draws from the pool that is the default when a row is
// created.
func TestNoSource(t *testing.T) {
	pool := idgen.Default()
	defer idgen.SetDefault(pool)
	eachInTurn(t, func(t *testing.T, c client) {
		for name, src := range map[string]idgen.Source{"nil": nil, "nil pool": (*idgen.Pool)(nil)} {
			idgen.SetDefault(nil)
			client := ent.NewClient(ent.Driver(sql.OpenDB(dialects[c.db.Dialect], c.sql)))
			client.Use(entid.Hook(src))
			if err := client.Note.Create().SetText("a").Exec(t.Context()); !errors.Is(err, idgen.ErrNoPool) {
				t.Errorf("%s: got %v, want ErrNoPool", name, err)
			}
			idgen.SetDefault(pool)
			if note := client.Note.Create().SetText("a").SaveX(t.Context()); note.ID.IsZero() {
				t.Errorf("%s: the id is not filled", name)
			}
		}
	})
}

// To ent's templates, a key is a field of type Other with a Go type of package pk.
func TestTemplate(t *testing.T) {
	for field, want := range map[string]string{"Post.author_id": "key", "Tagging.post_id": "key", "Post.title": "text", "User.age": "number"} {
		if got := ent.Inputs[field]; got != want {
			t.Errorf("the input for %s is %q, want %q", field, got, want)
		}
	}
}
