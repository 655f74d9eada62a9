package idgen_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
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

// newWorker returns a worker number that few other tests have used. This matters
// because a pool starts above the ids of the previous pool with its number, and some
// tests make ids of the year 2094. Numbers below 100 and above 900 are for tests that
// choose their own.
func newWorker(bits int) (int64, error) {
	n := workers.Add(1)
	if bits < 10 {
		return n % (1 << bits), nil
	}
	return 100 + n%800, nil
}

// newPool returns a pool that is closed at the end of the test. If cfg has no Worker,
// the pool gets a number from newWorker.
func newPool(t testing.TB, cfg idgen.Config) *idgen.Pool {
	t.Helper()
	if cfg.Worker == nil {
		cfg.Worker = newWorker
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	pool, err := idgen.NewPool(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return pool
}

func mustNext(t testing.TB, src idgen.Source) int64 {
	t.Helper()
	id, err := src.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
