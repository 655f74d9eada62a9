package idgen

import (
	"sync"
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
	epoch      time.Time
	source     func() time.Time // nil for the system's clock
	correction atomic.Int64     // added to each reading of source or of the wall clock

	start   time.Time    // any instant with a monotonic reading
	offset  atomic.Int64 // from the epoch to start, by the corrected wall clock
	due     atomic.Int64 // when to look at the wall clock again, since start
	looking sync.Mutex   // guards the writing of offset and due
}

func newClock(epoch time.Time, source func() time.Time) *clock {
	c := &clock{epoch: epoch, source: source, start: time.Now()}
	c.correct(0)
	return c
}

func (c *clock) now() time.Duration {
	if c.source != nil {
		return c.sinceEpoch(c.source())
	}
	elapsed := time.Since(c.start)
	if int64(elapsed) >= c.due.Load() {
		return c.resync()
	}
	return time.Duration(c.offset.Load()) + elapsed
}

// sinceEpoch corrects a reading. The epoch has no monotonic reading, so it is
// the wall clock's that counts.
func (c *clock) sinceEpoch(t time.Time) time.Duration {
	return t.Add(time.Duration(c.correction.Load())).Sub(c.epoch)
}

// correct adds by to every reading that begins after it returns.
func (c *clock) correct(by time.Duration) {
	c.looking.Lock()
	defer c.looking.Unlock()
	c.correction.Store(int64(by))
	c.look()
}

// resync looks at the wall clock, unless another call is about to: an offset
// that was good for resyncEvery is good until that has.
func (c *clock) resync() time.Duration {
	if c.looking.TryLock() {
		defer c.looking.Unlock()
		c.look()
	}
	return time.Duration(c.offset.Load()) + time.Since(c.start)
}

// look ties the monotonic clock to the wall clock. The caller holds looking.
func (c *clock) look() {
	now := time.Now()
	elapsed := now.Sub(c.start)
	c.offset.Store(int64(c.sinceEpoch(now) - elapsed))
	c.due.Store(int64(elapsed + resyncEvery))
}
