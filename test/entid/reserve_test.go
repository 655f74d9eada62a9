//go:build clients

package entid_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/ent/entid"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/test/entid/internal/ent"
)

func names(n int) func(*ent.UserCreate, int) {
	return func(u *ent.UserCreate, i int) { u.SetName(string(rune('a' + n + i))) }
}

// One reservation is enough for one bulk call.
func TestReserve(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		src := newCounter()
		c.Use(entid.Hook(src))
		ctx := entid.Reserve(t.Context(), 3)
		us := c.User.MapCreateBulk(make([]struct{}, 3), names(0)).SaveX(ctx)
		if src.appends != 1 || src.nexts != 0 {
			t.Errorf("a bulk of 3 made %d reservations and drew %d single ids, want 1 and 0", src.appends, src.nexts)
		}
		for i, u := range us {
			if want := pk.ID(low) + pk.ID(i); u.ID != want {
				t.Errorf("row %d got %d, want %d", i, u.ID, want)
			}
		}
		c.wantRows(t, "SELECT id FROM users ORDER BY name", texts(us[0].ID, us[1].ID, us[2].ID)...)

		// Rows beyond the reservation draw their own ids, and so does another source.
		c.User.Create().SetName("x").ExecX(ctx)
		if src.appends != 1 || src.nexts != 1 {
			t.Errorf("past the reservation there were %d reservations and %d single ids, want 1 and 1", src.appends, src.nexts)
		}
	})
}

func TestReserveForTwoSources(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		users, tags := newCounter(), newCounter()
		tags.last += 100
		c.User.Use(entid.Hook(users))
		c.Tag.Use(entid.Hook(tags))
		ctx := entid.Reserve(t.Context(), 2)
		a := c.User.Create().SetName("a").SaveX(ctx).ID
		x := c.Tag.Create().SetName("x").SaveX(ctx).ID
		b := c.User.Create().SetName("b").SaveX(ctx).ID
		if a != low || b != high || x != low+100 {
			t.Errorf("users got %d and %d, a tag %d", a, b, x)
		}
		if users.appends != 1 || users.nexts != 0 || tags.appends != 0 || tags.nexts != 1 {
			t.Errorf("users: %+v, tags: %+v", users, tags)
		}
	})
}

func TestReserveError(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		src := newCounter()
		src.failAfter = 2
		c.Use(entid.Hook(src))
		ctx := entid.Reserve(t.Context(), 3)
		if _, err := c.User.MapCreateBulk(make([]struct{}, 3), names(0)).Save(ctx); !errors.Is(err, errSource) {
			t.Errorf("got %v, want %v", err, errSource)
		}
		c.wantRows(t, "SELECT id FROM users")
		src.failAfter = 0
		c.User.MapCreateBulk(make([]struct{}, 3), names(0)).SaveX(ctx)
		if src.appends != 2 || src.nexts != 0 {
			t.Errorf("after an error the reservation was not made again: %+v", src)
		}
	})
}

// A source that returns too few ids, or 0, must result in an error, and nothing may be
// inserted.
func TestSourceBreaksItsPromise(t *testing.T) {
	each(t, func(t *testing.T, c client) {
		var src short
		c.Use(entid.Hook(&src))
		for n := range 3 {
			src.n = n
			_, err := c.User.MapCreateBulk(make([]struct{}, 3), names(0)).Save(entid.Reserve(t.Context(), 3))
			wantRowError(t, err, fmt.Sprintf("the source returned %d ids instead of 3", n))
		}
		wantRowError(t, c.User.Create().SetName("a").Exec(t.Context()), "the source returned 0")
		c.wantRows(t, "SELECT id FROM users")
	})
}

func wantRowError(t *testing.T, err error, text string) {
	t.Helper()
	if _, ok := errors.AsType[*entid.RowError](err); !ok || !strings.Contains(err.Error(), "got no id: "+text+"; nothing was inserted") {
		t.Errorf("got %v, want a RowError with %q", err, text)
	}
}

// A short source returns n ids at a time, and 0 if it's asked for a single one.
type short struct{ n int }

func (*short) Next(context.Context) (int64, error) { return 0, nil }

func (s *short) Append(_ context.Context, dst []int64, n int) ([]int64, error) {
	for i := range s.n {
		dst = append(dst, low+int64(i))
	}
	return dst, nil
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
		us := c.User.MapCreateBulk(make([]struct{}, 2), names(0)).SaveX(entid.Reserve(t.Context(), 2))
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
