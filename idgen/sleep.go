package idgen

import (
	"context"
	"sync"
	"time"
)

const (
	shortestSleep = 100 * time.Microsecond

	// oversleep is how much longer than necessary a call sleeps, as far as MaxAhead
	// allows. See wait.
	oversleep = 1750 * time.Microsecond
)

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
	select {
	case <-timer:
	case <-awake:
	case <-c.closed:
		return c.refuse
	case <-ctx.Done():
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
