package idgen

import (
	"context"
	"sync"
	"time"
)

// A call that waits for the clock sleeps longer than necessary, by the time in which the
// generator can make perSleep ids, but by no more than longestOversleep. Otherwise a
// generator at its maximum rate would wake a call for every few ids, and that costs more
// than making them.
const (
	perSleep         = 2000
	longestOversleep = 8 * time.Millisecond
	shortestSleep    = 100 * time.Microsecond
	longestSleep     = 100 * time.Millisecond // since the clock may be corrected meanwhile
)

// oversleep returns how much longer than necessary a call sleeps. Afterwards, ids are
// still a quarter of maxAhead ahead of the clock, so that none is lost.
func (c *core) oversleep() time.Duration {
	return min(perSleep*min(c.unit, time.Second)>>c.seqBits, longestOversleep, c.maxAhead/4*3)
}

// A sleeper is the call that most recently began to sleep until a given time. Calls that
// would wake at about the same time wait for it, because a timer of their own would cost
// more than all else that they do.
type sleeper struct {
	mu    sync.Mutex
	wakes time.Time
	awake chan struct{} // closed when the call has slept, or nil
}

// sleep sleeps for d, or for up to early less if another call wakes then. It returns an
// error if ctx ends or the pool is closed. If the sleep of another call ends for such a
// reason, sleep returns too early.
func (c *core) sleep(ctx context.Context, d, early time.Duration) error {
	wakes := time.Now().Add(d)
	var timer <-chan time.Time
	c.sleeper.mu.Lock()
	awake := c.sleeper.awake
	if off := c.sleeper.wakes.Sub(wakes); awake == nil || off < -early || off > shortestSleep {
		awake = make(chan struct{})
		c.sleeper.wakes, c.sleeper.awake = wakes, awake
		defer c.wake(awake)
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	c.sleeper.mu.Unlock()
	switch done := ctx.Done(); {
	case timer != nil:
		select {
		case <-timer:
		case <-c.closed:
		case <-done:
		}
	case done != nil:
		select {
		case <-awake:
		case <-done:
		}
	default:
		<-awake
	}
	select {
	case <-c.closed:
		return c.refuse
	default:
	}
	if ctx.Err() != nil {
		return waitError(ctx)
	}
	return nil
}

// wake wakes the calls that wait for awake.
func (c *core) wake(awake chan struct{}) {
	c.sleeper.mu.Lock()
	if c.sleeper.awake == awake {
		c.sleeper.awake = nil
	}
	c.sleeper.mu.Unlock()
	close(awake)
}
