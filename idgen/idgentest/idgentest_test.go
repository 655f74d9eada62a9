package idgentest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/hooks/sqlid"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/idgentest"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/schema/pk"
)

func next(t *testing.T, ids idgen.Source, n int) []int64 {
	t.Helper()
	return errtest.Must(ids.Append(t.Context(), nil, n))(t)
}

// Pools that live at the same time share nothing.
func TestIDsAreTheSameInEveryRun(t *testing.T) {
	for range 2 {
		ids := idgentest.New(t)
		if got := next(t, ids, 2); !slices.Equal(got, []int64{idgentest.First, idgentest.First + 1}) {
			t.Errorf("the first ids are %d; want %d and the one after it", got, int64(idgentest.First))
		}
		ids.Advance(time.Millisecond)
		const perTick = 1 << 22 // ids of all workers
		got, want := next(t, ids, 1)[0], int64(idgentest.First+perTick)
		if got != want || !ids.Layout().Decode(got).Time.Equal(ids.Now()) {
			t.Errorf("a millisecond later, at %v, the id is %d; want %d", ids.Now(), got, want)
		}
	}
}

// JavaScript must not be able to hold the ids, not even the first ones of a tick.
func TestFloat64RoundsTheIDs(t *testing.T) {
	ids := idgentest.New(t)
	for range 100 {
		pair := next(t, ids, 2)
		if pair[1] != pair[0]+1 {
			t.Errorf("%d are not neighbours", pair)
		}
		if float64(pair[0]) != float64(pair[1]) || int64(float64(pair[0])) == pair[0] {
			t.Errorf("float64 can tell %d from %d", pair[0], pair[1])
		}
		ids.Advance(time.Minute)
	}
}

// TestNamed draws from the pool's other generators, also by a model's tag.
func TestNamed(t *testing.T) {
	ids := idgentest.New(t)
	type order struct {
		ID pk.ID `snowkey:"orders"`
	}
	orders := make([]order, 2)
	errtest.NoError(t, sqlid.New(ids).Fill(t.Context(), orders))
	if orders[0].ID != idgentest.First || orders[1].ID != idgentest.First+1 {
		t.Errorf("the first ids are %v", orders)
	}
	ids.Advance(time.Hour)
	const perHour = 3_600_000 << 22 // ids of all workers
	if got, want := next(t, ids.Named("orders"), 1)[0], int64(idgentest.First+perHour); got != want {
		t.Errorf("an hour later, the id is %d; want %d", got, want)
	}
}

// A million ids need far more ticks than the clock shows.
func TestPoolDoesNotWait(t *testing.T) {
	ids := idgentest.New(t)
	before := next(t, ids, 1)[0]
	ids.Advance(-time.Hour)
	for range 10 {
		many := next(t, ids, 100_000)
		if many[0] <= before || !slices.IsSorted(many) {
			t.Fatalf("ids do not ascend after %d", before)
		}
		before = many[len(many)-1]
	}
}

func TestPoolSuspendsAndResumes(t *testing.T) {
	ids := idgentest.New(t)
	before := next(t, ids, 2)
	errtest.NoError(t, ids.Suspend(t.Context()))
	if h := ids.Health(); h.State != idgen.Unleased {
		t.Errorf("a suspended pool is %v", h.State)
	}
	errtest.NoError(t, ids.Resume(t.Context()))
	if got := next(t, ids, 1)[0]; got != before[1]+1 {
		t.Errorf("the id after Resume is %d; want %d", got, before[1]+1)
	}
}

func TestPoolIsClosedWithItsTest(t *testing.T) {
	var ids *idgentest.Pool
	t.Run("", func(t *testing.T) { ids = idgentest.New(t) })
	if _, err := ids.Next(t.Context()); err != idgen.ErrClosed {
		t.Errorf("after the end of its test, the pool returned %v; want ErrClosed", err)
	}
}

// A Counter counts for each model, and for each generator that a tag names.
func TestCounter(t *testing.T) {
	type (
		user  struct{ ID pk.ID }
		order struct {
			ID pk.ID `snowkey:"orders"`
		}
		invoice struct {
			ID pk.ID `snowkey:"orders"`
		}
	)
	users, orders, bill := make([]user, 2), make([]order, 2), invoice{}
	filler := sqlid.New(new(idgentest.Counter))
	for _, rows := range []any{users, orders, &bill} {
		errtest.NoError(t, filler.Fill(t.Context(), rows))
	}
	if users[0].ID != 1 || users[1].ID != 2 || orders[0].ID != 1 || orders[1].ID != 2 || bill.ID != 3 {
		t.Errorf("got %v, %v and %v", users, orders, bill)
	}
}
