//go:build clients

package entid_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/internal/idtest"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
)

func name(u *ent.UserCreate, i int) { u.SetName(string(rune('a' + i))) }

// One reservation is enough for one bulk call.
func TestReserve(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		src := new(idtest.Source)
		c.Use(entid.Hook(src))
		ctx := entid.Reserve(t.Context(), 3)
		us := c.User.MapCreateBulk(make([]struct{}, 3), name).SaveX(ctx)
		wantDraws(t, src, 3)
		if us[0].ID != low || us[1].ID != high || us[2].ID != low+2 {
			t.Errorf("got %v", us)
		}
		c.wantRows(t, "SELECT id FROM users ORDER BY name", texts(us[0].ID, us[1].ID, us[2].ID)...)

		c.User.Create().SetName("x").ExecX(ctx) // beyond the reservation
		wantDraws(t, src, 3, 1)
	})
}

// wantDraws checks how many ids each call wanted from a source.
func wantDraws(t *testing.T, src *idtest.Source, want ...int) {
	t.Helper()
	if !slices.Equal(src.Asked, want) {
		t.Errorf("the source was asked for %d ids, want %d", src.Asked, want)
	}
}

// The hook of one entity must not fill the keys of another, nor use ids that were reserved for it.
func TestReserveForTwoSources(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		users, tags := new(idtest.Source), new(idtest.Source)
		c.User.Use(entid.Hook(users))
		c.Tag.Use(entid.Hook(tags))
		ctx := entid.Reserve(t.Context(), 2)
		a := c.User.Create().SetName("a").SaveX(ctx).ID
		x := c.Tag.Create().SetName("x").SaveX(ctx).ID
		b := c.User.Create().SetName("b").SaveX(ctx).ID
		if a != low || b != high || x != low {
			t.Errorf("users got %d and %d, a tag %d", a, b, x)
		}
		wantDraws(t, users, 2)
		wantDraws(t, tags, 1)
	})
}

// If the source fails, nothing is inserted, and the next row makes the reservation again. Package
// matrix lets the source fail without a reservation.
func TestReserveError(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		src := &idtest.Source{Err: errors.New("source failed")}
		c.Use(entid.Hook(src))
		ctx := entid.Reserve(t.Context(), 3)
		if _, err := c.User.MapCreateBulk(make([]struct{}, 3), name).Save(ctx); !errors.Is(err, src.Err) {
			t.Errorf("got %v, want %v", err, src.Err)
		}
		c.wantRows(t, "SELECT id FROM users")
		src.Err = nil
		c.User.MapCreateBulk(make([]struct{}, 3), name).SaveX(ctx)
		wantDraws(t, src, 3, 3)
	})
}

// A source that returns too few ids, or 0, must result in an error, and nothing may be
// inserted.
func TestSourceBreaksItsPromise(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		c.Tag.Use(entid.Hook(&idtest.Source{Short: 1}))
		c.User.Use(entid.Hook(funcSource(func() int64 { return 0 })))
		bulk := c.Tag.CreateBulk(c.Tag.Create().SetName("a"), c.Tag.Create().SetName("b"))
		idtest.WantRowError(t, bulk.Exec(entid.Reserve(t.Context(), 2)), -1, "got no keys for 1 row: the source returned 1 ids instead of 2")
		idtest.WantRowError(t, c.User.Create().SetName("a").Exec(t.Context()), -1, "got no keys for 1 row: the source returned 0")
		c.wantRows(t, "SELECT id FROM users UNION SELECT id FROM tags")
	})
}

// funcSource isn't comparable, so a row can't find its reservation.
type funcSource func() int64

func (f funcSource) Next(context.Context) (int64, error) { return f(), nil }

func (f funcSource) Append(_ context.Context, dst []int64, n int) ([]int64, error) {
	panic("not reached")
}

func TestReserveIncomparable(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		last := int64(low - 1)
		c.Use(entid.Hook(funcSource(func() int64 { last++; return last })))
		us := c.User.MapCreateBulk(make([]struct{}, 2), name).SaveX(entid.Reserve(t.Context(), 2))
		if us[0].ID != low || us[1].ID != high {
			t.Errorf("got %v", us)
		}
	})
}

// Goroutines that share a context must not get duplicate ids.
func TestReserveConcurrently(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		ctx := entid.Reserve(t.Context(), 50)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				c.Tag.MapCreateBulk(make([]struct{}, 20), func(tc *ent.TagCreate, i int) { tc.SetName(string(rune('a' + g))) }).SaveX(ctx)
			})
		}
		wg.Wait()
		if n := c.Tag.Query().CountX(ctx); n != 80 {
			t.Errorf("%d rows of 80", n)
		}
	})
}
