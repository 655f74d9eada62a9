package idgen_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

// steppedClock is time.Now plus an offset.
type steppedClock struct{ offset atomic.Int64 }

// newClock returns a clock that shows 2026-06-01 now.
func newClock() *steppedClock {
	c := &steppedClock{}
	c.step(time.Until(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)))
	return c
}

func (c *steppedClock) Now() time.Time       { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *steppedClock) step(d time.Duration) { c.offset.Add(int64(d)) }

// heldClock stands still at the time to which it was set.
type heldClock struct{ at atomic.Pointer[time.Time] }

func holdClock(at time.Time) *heldClock {
	c := &heldClock{}
	c.set(at)
	return c
}

func (c *heldClock) Now() time.Time       { return *c.at.Load() }
func (c *heldClock) set(at time.Time)     { c.at.Store(&at) }
func (c *heldClock) step(d time.Duration) { c.set(c.Now().Add(d)) }

var workers atomic.Int64

// newPool returns a pool that is closed at the end of the test. If cfg has no Worker,
// no other pool of the test has its number.
func newPool(t testing.TB, cfg idgen.Config) *idgen.Pool {
	t.Helper()
	if cfg.Worker == nil {
		cfg.Worker = func(bits int) (int64, error) { return workers.Add(1) % (1 << bits), nil }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	pool := errtest.Must(idgen.NewPool(cfg))(t)
	closeAtEnd(t, pool)
	return pool
}

func closeAtEnd(t testing.TB, pool *idgen.Pool) {
	t.Cleanup(func() {
		errtest.NoError(t, pool.Close(context.Background()))
		idgen.ForgetWorkers()
	})
}

func mustNext(t testing.TB, src idgen.Source) int64 {
	t.Helper()
	return errtest.Must(src.Next(t.Context()))(t)
}

// refused checks that all ways to take ids from src fail with an error.
func refused(t testing.TB, want error, src interface {
	idgen.Source
	NextN(context.Context, int) ([]int64, error)
}) {
	t.Helper()
	if id, err := src.Next(t.Context()); !errors.Is(err, want) || id != 0 {
		t.Errorf("Next returns %d, %v; want %v", id, err, want)
	}
	if ids, err := src.Append(t.Context(), nil, 2); !errors.Is(err, want) || ids != nil {
		t.Errorf("Append returns %v, %v; want %v", ids, err, want)
	}
	if ids, err := src.NextN(t.Context(), 2); !errors.Is(err, want) || len(ids) != 0 {
		t.Errorf("NextN returns %v, %v; want %v", ids, err, want)
	}
}

// ascending fails the test unless each id is larger than the one before, which means that
// ids are in order and also unique.
func ascending(t testing.TB, ids []int64) {
	t.Helper()
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			t.Fatalf("id %d is %d, after %d", i, ids[i], ids[i-1])
		}
	}
}

// unique fails the test unless there are n ids, and none repeats. It sorts them.
func unique(t testing.TB, ids []int64, n int) {
	t.Helper()
	slices.Sort(ids)
	ascending(t, ids)
	if len(ids) != n {
		t.Fatalf("%d ids; want %d", len(ids), n)
	}
}
