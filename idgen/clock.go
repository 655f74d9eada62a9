package idgen

import (
	"sync/atomic"
	"time"
)

// resyncEvery is how long the system clock is followed by the monotonic clock
// alone. One reading of the monotonic clock costs about half of what time.Now
// costs; a step of the wall clock is seen this much later.
const resyncEvery = 100 * time.Millisecond

// clock tells the time since a layout's epoch. It may stand still, jump and go
// back: generators expect that. It is safe for concurrent use.
type clock struct {
	epoch  time.Time
	source func() time.Time // nil for the system's clock

	start  time.Time    // any instant with a monotonic reading
	offset atomic.Int64 // from the epoch to start, by the wall clock
	due    atomic.Int64 // when to look at the wall clock again, since start
}

func newClock(epoch time.Time, source func() time.Time) *clock {
	c := &clock{epoch: epoch, source: source, start: time.Now()}
	c.resync()
	return c
}

func (c *clock) now() time.Duration {
	if c.source != nil {
		return c.source().Sub(c.epoch) // the epoch has no monotonic reading, so this is the wall clock's
	}
	elapsed := time.Since(c.start)
	if int64(elapsed) >= c.due.Load() {
		return c.resync()
	}
	return time.Duration(c.offset.Load()) + elapsed
}

// resync looks at the wall clock. Callers may race: each writes a true reading.
func (c *clock) resync() time.Duration {
	now := time.Now()
	elapsed, wall := now.Sub(c.start), now.Sub(c.epoch)
	c.offset.Store(int64(wall - elapsed))
	c.due.Store(int64(elapsed + resyncEvery))
	return wall
}
