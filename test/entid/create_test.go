//go:build clients

package entid_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
)

// The mixin fills keys of every type from the default pool, and memory must equal the
// table.
func TestCreate(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		var filled []pk.ID
		check := func(table, stored string, id int64, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			c.wantRows(t, "SELECT id FROM "+table, stored)
			if w := idgen.Default().Layout().Decode(id).Worker; w != 7 {
				t.Errorf("%s: id %d has worker %d, want the default pool's 7", table, id, w)
			}
			filled = append(filled, pk.ID(id))
		}
		u, err := c.User.Create().SetName("a").Save(ctx)
		check("users", u.ID.String(), u.ID.Int64(), err)
		p, err := c.Post.Create().SetTitle("b").Save(ctx)
		check("posts", p.ID.String(), p.ID.Int64(), err)
		card, err := c.Card.Create().SetNumber("c").Save(ctx)
		check("cards", card.ID.String(), card.ID.Int64(), err)
		note, err := c.Note.Create().SetText("d").Save(ctx)
		check("notes", note.ID.String(), note.ID.Int64(), err)
		label, err := c.Label.Create().SetName("e").Save(ctx)
		check("labels", label.ID.String(), label.ID.Int64(), err)

		if got := c.User.GetX(ctx, u.ID); got.ID != u.ID || got.Name != "a" {
			t.Errorf("User.Get(%v) = %v", u.ID, got)
		}
		if got := c.Note.GetX(ctx, note.ID); got.ID != note.ID {
			t.Errorf("Note.Get(%v) = %v", note.ID, got)
		}
		if got := c.Label.GetX(ctx, label.ID); got.ID != label.ID {
			t.Errorf("Label.Get(%v) = %v", label.ID, got)
		}
		if u := c.User.Create().SetName("zero").SetID(0).SaveX(ctx); u.ID == 0 {
			t.Error("a zero key was not filled")
		}
		// Exec doesn't share its code with Save.
		if err := c.User.Create().SetName("exec").Exec(ctx); err != nil {
			t.Error(err)
		}
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
	eachInTurn(t, func(t *testing.T, c client) {
		ctx := t.Context()
		first := c.Post.Create().SetTitle("1").SaveX(ctx).ID
		c.User.Create().SetName("a").ExecX(ctx)
		c.Tag.Create().SetName("b").ExecX(ctx)
		if second := c.Post.Create().SetTitle("2").SaveX(ctx).ID; second != first+1 {
			t.Errorf("posts got %d and %d, want neighbours", first, second)
		}
		if next, err := pool.Named("posts").Next(ctx); err != nil || pk.ID(next) != first+2 {
			t.Errorf("generator posts continues with %d, %v; want %d", next, err, first+2)
		}
	})
}

// If the generator returns an error, it must reach the caller, and nothing may be
// inserted. In a bulk create this means no row at all, whichever row the error was for,
// and no edges.
func TestSourceError(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		tag := c.Tag.Create().SetName("t").SaveX(ctx)
		src := newCounter()
		src.failAfter = 2
		c.Use(entid.Hook(src))
		bulk := []*ent.UserCreate{
			c.User.Create().SetName("a").AddFollows(tag),
			c.User.Create().SetName("b").SetID(low),
			c.User.Create().SetName("c"),
			c.User.Create().SetName("d").AddFollows(tag),
		}
		if us, err := c.User.CreateBulk(bulk...).Save(ctx); !errors.Is(err, errSource) || us != nil {
			t.Errorf("bulk: got %v, %v; want %v", us, err, errSource)
		}
		u, err := c.User.Create().SetName("e").AddFollows(tag).Save(ctx)
		if !errors.Is(err, errSource) || u != nil {
			t.Errorf("create: got %v, %v; want %v", u, err, errSource)
		}
		if want := "entid: User got no id: source failed; nothing was inserted"; err.Error() != want {
			t.Errorf("the error is %q, want %q", err, want)
		}
		c.wantRows(t, "SELECT id FROM users")
		c.wantRows(t, "SELECT user_id FROM user_follows")
	})
}

// Without a pool, rows are refused with an error that says what to do. Rows that have
// preset ids must still be inserted.
func TestNoPool(t *testing.T) {
	defer idgen.SetDefault(idgen.Default())
	idgen.SetDefault(nil)
	eachInTurn(t, func(t *testing.T, c client) {
		ctx := t.Context()
		for name, create := range map[string]func() error{
			"pool's own": func() error { return c.User.Create().SetName("a").Exec(ctx) },
			"named":      func() error { return c.Post.Create().SetTitle("a").Exec(ctx) },
			"bulk":       func() error { return c.User.CreateBulk(c.User.Create().SetName("a")).Exec(ctx) },
			"reserved": func() error {
				return c.User.CreateBulk(c.User.Create().SetName("a")).Exec(entid.Reserve(ctx, 1))
			},
		} {
			if err := create(); !errors.Is(err, idgen.ErrNoPool) {
				t.Errorf("%s: got %v, want ErrNoPool", name, err)
			}
		}
		if err := c.User.Create().SetName("preset").SetID(low).Exec(ctx); err != nil {
			t.Errorf("a preset key needs no pool, but got %v", err)
		}
		c.wantRows(t, "SELECT name FROM users", "preset")
	})
}

// While waiting for the clock, a cancelled context must end the wait.
func TestContext(t *testing.T) {
	pool := dbtest.Must(idgen.NewPool(idgen.Config{Worker: worker.Static(9), Clock: frozen, NoSpread: true, MaxAhead: -1, MaxWait: idgen.NoLimit}))(t)
	t.Cleanup(func() { pool.Close(context.Background()) })
	if _, err := pool.NextN(t.Context(), 4096); err != nil { // all ids of the only tick that there will be
		t.Fatal(err)
	}
	c := ent.NewClient()
	c.Use(entid.Hook(pool))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := c.User.Create().SetName("a").Exec(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
