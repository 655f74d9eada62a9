package idgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Each call returns at the time that it asked for: up to early before it, and up to
// shortestSleep after it.
func TestSleepersForOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		var c core
		var wg sync.WaitGroup
		start := time.Now()
		for _, sleep := range []struct{ d, early time.Duration }{
			{25 * ms, 0}, // the others must not wait for this one
			{2 * ms, 2 * ms}, {3 * ms, 2 * ms}, {4 * ms, 2 * ms},
			{ms, ms}, {2 * ms, ms}, {2*ms + 1, 0}, {ms - shortestSleep, ms}, {ms - shortestSleep - 1, ms},
			{25 * ms, 25 * ms}, {24 * ms, 25 * ms}, {30 * ms, 5 * ms},
		} {
			wg.Go(func() {
				err := c.sleep(t.Context(), sleep.d, sleep.early)
				if took := time.Since(start); err != nil || took < sleep.d-sleep.early || took > sleep.d+shortestSleep {
					t.Errorf("a sleep of %v, or up to %v less, took %v, error %v", sleep.d, sleep.early, took, err)
				}
			})
			synctest.Wait() // so that they begin in this order
		}
		wg.Wait()
		if c.sleeper.awake != nil {
			t.Error("nobody sleeps, but others would wait for that call")
		}
	})
}

// sleepyGenerator returns a generator of 4,096 ids per millisecond for a bubble, whose
// clock begins in the year 2000. No other pool has its layout, see unorderedLayout.
func sleepyGenerator(t *testing.T, ahead time.Duration) *Generator {
	days := 1000 + int(unorderedLayouts.Add(1))
	l, err := NewLayout(time.Date(2000, 1, -days, 0, 0, 0, 0, time.UTC), time.Millisecond, Time(41), Sequence(12))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := NewPool(Config{Layout: l, Worker: func(int) (int64, error) { return 0, nil }, MaxAhead: ahead, MaxWait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &pool.main
}

// If the call that sleeps for the others gives up, they go on.
func TestSleeperGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := sleepyGenerator(t, 4*time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		var (
			wg   sync.WaitGroup
			mu   sync.Mutex
			ids  []int64
			ends []error
		)
		for i := range 64 {
			wg.Go(func() {
				ctx, n := ctx, 6*4096 // the first call gets up to 2 ms too far ahead
				if i > 0 {
					ctx, n = t.Context(), 10
				}
				list, err := g.NextN(ctx, n)
				mu.Lock()
				defer mu.Unlock()
				ids = append(ids, list...)
				if err != nil {
					ends = append(ends, err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(100 * time.Microsecond)
		cancel()
		wg.Wait()
		if len(ends) != 1 || !errors.Is(ends[0], context.Canceled) {
			t.Errorf("the errors of the calls are %v, want that of the one that gave up", ends)
		}
		slices.Sort(ids)
		if n := len(slices.Compact(ids)); n != 63*10 {
			t.Errorf("there are %d different ids, want %d", n, 63*10)
		}
	})
}

// A generator at its ceiling wakes its calls together, and late by no more than
// its oversleep and shortestSleep. No call returns before its id may be issued.
func TestWaitAtTheCeiling(t *testing.T) {
	for _, goroutines := range []int{1, 2, 64} {
		t.Run(fmt.Sprint(goroutines), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const ahead = 10 * time.Millisecond
				g := sleepyGenerator(t, ahead)
				end := time.Now().Add(time.Second)
				var wg sync.WaitGroup
				var full atomic.Bool // the ceiling was reached
				for range goroutines {
					wg.Go(func() {
						for time.Now().Before(end) {
							atCeiling := full.Load() // before this call takes its numbers
							s, first, err := g.reserve(t.Context(), 64)
							if err != nil {
								t.Error(err)
								return
							}
							early := g.lead(first+63, g.clock.now()) - s.maxAhead
							if early > 0 {
								t.Errorf("a call returned %v too early", early)
							}
							if early > -g.unit {
								full.Store(true)
							} else if atCeiling && -early > g.oversleep()+shortestSleep+g.unit {
								t.Errorf("a call returned %v too late", -early)
							}
						}
					})
				}
				wg.Wait()
			})
		})
	}
}
