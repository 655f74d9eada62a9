package idgen

import (
	"sync"
	"sync/atomic"
	"time"
)

// resyncEvery is how often a clock reads the wall clock. In between, it only reads the
// monotonic clock, which costs about half as much as time.Now. The price is that a step
// of the wall clock may take this long to have an effect. A reading after a pause takes
// about 3 µs, so programs that make an id a millisecond notice a shorter time.
const resyncEvery = time.Second

// clock returns the time since a layout's epoch. Generators must expect it to stand
// still, jump and go back. It is safe for concurrent use. Each generator has a clock of
// its own, because then the first three fields are in a cache line that a call has to
// read anyway.
type clock struct {
	start  time.Time    // any time with a monotonic reading
	offset atomic.Int64 // from the epoch to start, by the corrected wall clock
	due    atomic.Int64 // when the wall clock must be read again, since start

	epoch      time.Time
	source     func() time.Time // nil for the system clock
	correction atomic.Int64     // added to each reading of source or of the wall clock
	looking    sync.Mutex       // guards writes to offset and due
}

// init must be called before the first use.
func (c *clock) init(epoch time.Time, source func() time.Time, correction time.Duration) {
	c.epoch, c.source, c.start = epoch, source, time.Now()
	c.correct(correction)
}

func (c *clock) now() time.Duration {
	elapsed := time.Since(c.start)
	if int64(elapsed) >= c.due.Load() {
		return c.resync()
	}
	return time.Duration(c.offset.Load()) + elapsed
}

// earliest is the smallest result of now, even if the clock shows an earlier time. It
// leaves enough room to subtract another tick from the result without an overflow.
const earliest = -NoLimit / 2

// sinceEpoch returns the corrected time from the epoch to t. Since the epoch has no
// monotonic reading, Sub uses the wall clock's reading in t.
func (c *clock) sinceEpoch(t time.Time) time.Duration {
	return max(t.Add(time.Duration(c.correction.Load())).Sub(c.epoch), earliest)
}

// correct sets the correction to by, which takes effect for all readings that begin
// after correct has returned.
func (c *clock) correct(by time.Duration) {
	c.looking.Lock()
	defer c.looking.Unlock()
	c.correction.Store(int64(by))
	c.look()
}

// resync reads the wall clock and returns the time since the epoch. If another call is
// already reading the wall clock, resync uses the old offset rather than waiting.
func (c *clock) resync() time.Duration {
	if c.source != nil {
		return c.sinceEpoch(c.source())
	}
	if c.looking.TryLock() {
		defer c.looking.Unlock()
		c.look()
	}
	return time.Duration(c.offset.Load()) + time.Since(c.start)
}

// look sets the offset between the monotonic clock and the wall clock. With a source,
// due stays 0, so that each call of now calls resync. The caller must hold looking.
func (c *clock) look() {
	if c.source != nil {
		return
	}
	now := time.Now()
	elapsed := now.Sub(c.start)
	c.offset.Store(int64(c.sinceEpoch(now) - elapsed))
	c.due.Store(int64(elapsed + resyncEvery))
}
