package idgen

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Between two readings of the wall clock, the clock relies on the monotonic clock, so a
// step of the wall clock takes effect within resyncEvery. Since we can't set the wall
// clock of a synctest bubble, the test moves the epoch instead, which has the same
// effect.
func TestClockSeesSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		epoch := time.Now().Add(-time.Hour)
		c := startClock(epoch, nil)
		for range 5 {
			if got, want := c.now(), time.Since(epoch); got != want {
				t.Fatalf("%v since the epoch; want %v", got, want)
			}
			time.Sleep(resyncEvery / 3)
		}
		c.now()
		c.epoch = c.epoch.Add(time.Minute) // the wall clock goes back
		time.Sleep(resyncEvery - time.Nanosecond)
		c.now()
		time.Sleep(time.Nanosecond)
		if got, want := c.now(), time.Since(c.epoch); got != want {
			t.Errorf("%v after %v: %v since the epoch; want %v", got, resyncEvery, got, want)
		}
	})
}

// A correction is in effect from the moment correct returns until the next correction,
// even while other goroutines read the wall clock.
func TestClockIsCorrectedAtOnce(t *testing.T) {
	epoch := time.Now().Add(-1000 * time.Hour)
	for name, source := range map[string]func() time.Time{"system": nil, "injected": time.Now} {
		t.Run(name, func(t *testing.T) {
			c := startClock(epoch, source)
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			defer wg.Wait()
			defer cancel()
			for range 3 {
				wg.Go(func() {
					for ctx.Err() == nil {
						c.resync()
						c.now()
					}
				})
			}
			for i := range 5000 {
				by := time.Duration(i%5-2) * time.Hour
				c.correct(by)
				for range 10 {
					if off := c.now() - time.Since(epoch) - by; off.Abs() > time.Minute {
						t.Fatalf("corrected by %v, the clock is %v off", by, off)
					}
				}
			}
		})
	}
}

func startClock(epoch time.Time, source func() time.Time) *clock {
	c := new(clock)
	c.init(epoch, source, 0)
	return c
}
