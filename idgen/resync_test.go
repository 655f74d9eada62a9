package idgen

import (
	"testing"
	"testing/synctest"
	"time"
)

// The monotonic clock carries the time between two looks at the wall clock, and
// a step of the wall clock is seen within resyncEvery. The bubble's wall clock
// cannot be set, so the test sets the epoch, which is the same to the clock.
func TestClockSeesSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		epoch := time.Now().Add(-time.Hour)
		c := newClock(epoch, nil)
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
