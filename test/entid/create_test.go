//go:build clients

package entid_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent/user"
	"github.com/snowkey-go/snowkey/test/entid/internal/keys"
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
		// Exec doesn't share its code with Save.
		if err := c.User.Create().SetName("exec").Exec(ctx); err != nil {
			t.Error(err)
		}
	})
}

// A preset key must be kept exactly as it is, whereas a zero key is filled in.
func TestPreset(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		for _, id := range []pk.ID{low, high} {
			u := c.User.Create().SetName(id.String()).SetID(id).SaveX(ctx)
			if u.ID != id {
				t.Errorf("created with %d, got %d", id, u.ID)
			}
		}
		c.wantRows(t, "SELECT id FROM users ORDER BY id", texts[pk.ID](low, high)...)
		// All operations below must be able to tell the two keys apart.
		if got := c.User.Query().Where(user.ID(low)).OnlyX(ctx).Name; got != pk.ID(low).String() {
			t.Errorf("the row of %d has the name %s", int64(low), got)
		}
		c.User.DeleteOneID(high).ExecX(ctx)
		c.wantRows(t, "SELECT id FROM users", pk.ID(low).String())

		for _, id := range []pk.Text{low, high} {
			c.Label.Create().SetName(id.String()).SetID(id).ExecX(ctx)
		}
		c.Label.DeleteOneID(high).ExecX(ctx)
		c.wantRows(t, "SELECT id FROM labels", pk.Text(low).String())
		for _, id := range []keys.CardID{low, high} {
			c.Card.Create().SetNumber(id.String()).SetID(id).ExecX(ctx)
		}
		c.wantRows(t, "SELECT id FROM cards ORDER BY id", texts[pk.ID](low, high)...)

		if u := c.User.Create().SetName("zero").SetID(0).SaveX(ctx); u.ID == 0 {
			t.Error("a zero key was not filled")
		}
	})
}

// A bulk create fills in the keys in the order of the slice, skipping preset ones.
func TestBulk(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		check := func(us []*ent.User, err error) []pk.ID {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			var got []pk.ID
			for _, u := range us {
				got = append(got, u.ID)
				c.wantRows(t, "SELECT id FROM users WHERE name = '"+u.Name+"'", u.ID.String())
			}
			return got
		}
		builder := func(prefix string, i int) *ent.UserCreate {
			return c.User.Create().SetName(fmt.Sprint(prefix, i))
		}

		var builders []*ent.UserCreate
		for i := range 20 {
			builders = append(builders, builder("bulk", i))
		}
		got := check(c.User.CreateBulk(builders...).Save(ctx))
		if len(got) != 20 || !slices.IsSorted(got) || slices.Compact(got)[0] == 0 || len(slices.Compact(got)) != 20 {
			t.Errorf("ids do not ascend: %v", got)
		}

		got = check(c.User.MapCreateBulk(make([]struct{}, 5), func(u *ent.UserCreate, i int) { u.SetName(fmt.Sprint("map", i)) }).Save(ctx))
		if len(got) != 5 || !slices.IsSorted(got) {
			t.Errorf("ids of MapCreateBulk do not ascend: %v", got)
		}

		got = check(c.User.CreateBulk(builder("mix", 0), builder("mix", 1).SetID(high), builder("mix", 2), builder("mix", 3).SetID(low)).Save(ctx))
		if got[1] != high || got[3] != low {
			t.Errorf("presets %d, %d became %v", int64(high), int64(low), got)
		}
		if got[0] == 0 || got[2] <= got[0] {
			t.Errorf("rows between presets got %v", got)
		}

		if us, err := c.User.CreateBulk().Save(ctx); len(us) != 0 || err != nil {
			t.Errorf("an empty bulk create returned %v, %v", us, err)
		}
	})
}

// A mixin that has a name draws from the generator of that name. The clock stands
// still, so each generator counts up by one, and we notice a gap if an id was taken by
// another one.
func TestName(t *testing.T) {
	defer idgen.SetDefault(idgen.Default())
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(8), Clock: frozen, NoSpread: true, MaxAhead: idgen.NoLimit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close(context.Background()) })
	idgen.SetDefault(pool)
	each(t, func(t *testing.T, c client) {
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

// A transaction fills in ids like any other client. After a rollback, nothing may be
// left.
func TestTx(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := t.Context()
		tx := c.txX(t)
		tx.User.CreateBulk(tx.User.Create().SetName("a"), tx.User.Create().SetName("b")).SaveX(ctx)
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		c.wantRows(t, "SELECT id FROM users")

		tx = c.txX(t)
		u := tx.User.Create().SetName("a").SaveX(ctx)
		p := tx.Post.Create().SetTitle("p").SetAuthor(u).SaveX(ctx)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		c.wantRows(t, "SELECT id FROM users", u.ID.String())
		c.wantRows(t, "SELECT author_id FROM posts WHERE id = "+p.ID.String(), u.ID.String())
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
	each(t, func(t *testing.T, c client) {
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
	pool, err := idgen.NewPool(idgen.Config{Worker: worker.Static(9), Clock: frozen, NoSpread: true, MaxAhead: -1, MaxWait: idgen.NoLimit})
	if err != nil {
		t.Fatal(err)
	}
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
