package idgen

import (
	"context"
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

// sleep sleeps for d. It returns an error if ctx ends or the pool is closed, even if the
// time has passed as well.
func (c *core) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.closed:
	case <-ctx.Done():
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
