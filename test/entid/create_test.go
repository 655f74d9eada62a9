//go:build clients

package entid_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"entgo.io/ent/dialect/sql"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
)

// The mixin fills keys of every type from the default pool, and memory must equal the
// table.
func TestCreate(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		for table, id := range map[string]interface {
			String() string
			Int64() int64
		}{
			"users":  c.User.Create().SetName("a").SaveX(ctx).ID,
			"posts":  c.Post.Create().SetTitle("b").SaveX(ctx).ID,
			"cards":  c.Card.Create().SetNumber("c").SaveX(ctx).ID,
			"notes":  c.Note.Create().SetText("d").SaveX(ctx).ID,
			"labels": c.Label.Create().SetName("e").SaveX(ctx).ID,
		} {
			c.wantRows(t, "SELECT id FROM "+table, id.String())
			if w := idgen.Default().Layout().Decode(id.Int64()).Worker; w != 7 {
				t.Errorf("%s: id %d has worker %d, want the default pool's 7", table, id, w)
			}
		}
		for _, note := range c.Note.Query().AllX(ctx) {
			if got := c.Note.GetX(ctx, note.ID); got.ID != note.ID {
				t.Errorf("Note.Get(%v) = %v", note.ID, got)
			}
		}
		if u := c.User.Create().SetName("zero").SetID(0).SaveX(ctx); u.ID == 0 {
			t.Error("a zero key was not filled")
		}
		c.User.Create().SetName("exec").ExecX(ctx) // doesn't share its code with Save
	})
}

// A mixin that has a name draws from the generator of that name. The clock stands
// still, so each generator counts up by one, and we notice a gap if an id was taken by
// another one.
func TestName(t *testing.T) {
	defer idgen.SetDefault(idgen.Default())
	pool := dbtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(8), Clock: frozen, NoSpread: true, MaxAhead: idgen.NoLimit}))(t)
	t.Cleanup(func() { pool.Close(context.Background()) })
	idgen.SetDefault(pool)
	ctx := t.Context()
	c := open(t, dbtest.SQLite(t), tables)
	post := c.Post.Create().SetTitle("1").SaveX(ctx).ID
	c.User.Create().SetName("a").ExecX(ctx)
	c.Tag.Create().SetName("b").ExecX(ctx)
	if next, err := pool.Named("posts").Next(ctx); err != nil || pk.ID(next) != post+1 {
		t.Errorf("generator posts continues with %d, %v; want %d", next, err, post+1)
	}
}

// A mixin, and a hook without a source, draw from the pool that is the default when a row is
// created. Without a pool, rows are refused, unless their ids are preset.
func TestNoPool(t *testing.T) {
	pool := idgen.Default()
	defer idgen.SetDefault(pool)
	idgen.SetDefault(nil)
	ctx := t.Context()
	c := open(t, dbtest.SQLite(t), tables)
	var hooked []*ent.Client
	for _, src := range []idgen.Source{nil, (*idgen.Pool)(nil)} {
		client := ent.NewClient(ent.Driver(sql.OpenDB(dialects[c.db.Dialect], c.sql)))
		client.Use(entid.Hook(src))
		hooked = append(hooked, client)
	}
	for name, create := range map[string]func() error{
		"pool's own":     func() error { return c.User.Create().SetName("a").Exec(ctx) },
		"named":          func() error { return c.Post.Create().SetTitle("a").Exec(ctx) },
		"bulk":           func() error { return c.User.CreateBulk(c.User.Create().SetName("b")).Exec(ctx) },
		"reserved":       func() error { return c.User.CreateBulk(c.User.Create().SetName("c")).Exec(entid.Reserve(ctx, 1)) },
		"hook":           func() error { return hooked[0].Note.Create().SetText("a").Exec(ctx) },
		"hook, nil pool": func() error { return hooked[1].Note.Create().SetText("a").Exec(ctx) },
	} {
		idgen.SetDefault(nil)
		if err := create(); !errors.Is(err, idgen.ErrNoPool) {
			t.Errorf("%s: got %v, want ErrNoPool", name, err)
		}
		idgen.SetDefault(pool)
		if err := create(); err != nil {
			t.Errorf("%s, with a pool: %v", name, err)
		}
	}
	idgen.SetDefault(nil)
	c.User.Create().SetName("preset").SetID(low).ExecX(ctx)
	c.wantRows(t, "SELECT id FROM users WHERE name = 'preset'", fmt.Sprint(int64(low)))
}

// While a row waits for its id, a cancelled context must end the wait.
func TestContext(t *testing.T) {
	c := ent.NewClient()
	c.Use(entid.Hook(new(idtest.Waiting)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.User.Create().SetName("a").Exec(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// A client's hook runs before the hooks of mixins, which then keep the id. It fills in
// keys no matter if the entity has a mixin. Package matrix tries all types.
func TestHook(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		src := new(idtest.Source)
		c.Use(entid.Hook(src))
		a, b := c.User.Create().SetName("a").SaveX(ctx).ID, c.Event.Create().SetKind("b").SaveX(ctx).ID
		event := func(kind string) *ent.EventCreate { return c.Event.Create().SetKind(kind) }
		events := c.Event.CreateBulk(event("1"), event("2").SetID(low-1), event("3")).SaveX(ctx)
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
