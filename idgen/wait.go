package idgen

import (
	"context"
	"fmt"
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

// wait waits until the clock is within maxAhead of number, which the caller must own. It
// returns an error if ctx ends or the pool is closed meanwhile.
//
// We can't rely on a single sleep, because the clock may meanwhile be stepped, be
// corrected or stand still. Instead, wait reads the clock again after each sleep and
// never sleeps longer than longestSleep.
func (g *Generator) wait(ctx context.Context, t *tenure, number int64) error {
	// After the longer sleep, ids are still a quarter of maxAhead ahead of the clock, so that
	// none is lost.
	longer := min(perSleep*min(g.unit, time.Second)>>g.sequence.bits, longestOversleep, g.cfg.MaxAhead/4*3)
	for waiting := false; ; waiting = true {
		lead := g.lead(number, g.clock.now())
		left := lead - t.maxAhead
		switch {
		case g.life.Err() != nil:
			return context.Cause(g.life)
		case ctx.Err() != nil:
			return waitError(ctx)
		case left <= 0:
			return nil
		case left > g.cfg.MaxWait:
			return g.late(t, number, lead) // the clock was set back during the wait
		}
		if !waiting {
			defer g.waits.begin()()
		}
		select {
		case <-time.After(min(max(left+longer, shortestSleep), longestSleep)):
		case <-g.life.Done():
		case <-ctx.Done():
		}
	}
}

func waitError(ctx context.Context) error {
	return fmt.Errorf("idgen: waiting for the clock: %w", ctx.Err())
}
