package idgen

import (
	"sync/atomic"
	"time"
)

// resyncEvery is how long the system clock is followed by the monotonic clock
// alone. One reading of the monotonic clock costs about half of what time.Now
// costs; a step of the wall clock is seen this much later.
const resyncEvery = 100 * time.Millisecond

// clock tells the time since a layout's epoch, in nanoseconds. It may stand
// still, jump and go back: generators expect that. It is safe for concurrent use.
type clock struct {
	epoch  time.Time
	source func() time.Time // nil for the system's clock
	anchor atomic.Pointer[anchor]
}

// anchor ties the monotonic clock to the wall clock.
type anchor struct {
	at    time.Time     // with a monotonic reading
	since time.Duration // from the epoch to at, by the wall clock
}

func newClock(epoch time.Time, source func() time.Time) *clock {
	c := &clock{epoch: epoch, source: source}
	if source == nil {
		c.resync()
	}
	return c
}

func (c *clock) now() time.Duration {
	if c.source != nil {
		// Sub saturates after 292 years; without the monotonic reading it is the wall clock's.
		return c.source().Round(0).Sub(c.epoch)
	}
	a := c.anchor.Load()
	if d := time.Since(a.at); d < resyncEvery {
		return a.since + d
	}
	return c.resync()
}

// resync ties the clocks together anew. Callers may race: each writes a true
// reading, and the next caller takes whichever came last.
func (c *clock) resync() time.Duration {
	at := time.Now()
	since := at.Round(0).Sub(c.epoch)
	c.anchor.Store(&anchor{at, since})
	return since
}
