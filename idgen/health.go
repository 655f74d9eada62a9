package idgen

import (
	"fmt"
	"log/slog"
	"time"
)

// logger returns the logger to use now: slog.Default may be set after NewPool.
type logger func() *slog.Logger

// warnBefore is how long before the end of its layout a generator warns.
const warnBefore = 5 * 365 * 24 * time.Hour

// State is what a generator does with the next call. A larger State is worse.
type State uint8

const (
	Serving   State = iota // returns at once
	Waiting                // waits for the clock, up to MaxWait
	Failing                // returns a *ClockError
	Down                   // returns a *ClockError; the clock is behind by more than MaxBehind
	Exhausted              // returns ErrLayoutExhausted
	Closed                 // returns ErrClosed
)

func (s State) String() string {
	names := [...]string{"serving", "waiting", "failing", "down", "exhausted", "closed"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Health is what a readiness probe wants to know of a pool or a generator.
type Health struct {
	State     State
	Behind    time.Duration // how far the clock is behind the next id; 0 if it is not
	Remaining time.Duration // until the layout is exhausted, 292 years at most
	Expiring  bool          // less than 5 years remain
}

// Health reports what the generator would do now. It takes no number.
func (g *Generator) Health() Health {
	last := g.last.Load()
	if last < 0 {
		return Health{State: Closed}
	}
	now := g.clock.now()
	next := g.next(last, 1, now)
	h := Health{
		Remaining: max(g.end-max(now, 0), 0),
		Behind:    max(g.start(next)-now, 0),
	}
	h.Expiring = h.Remaining < warnBefore
	switch {
	case g.counter(next) >= g.bound:
		h.State = Exhausted
	case h.Behind > max(g.maxBehind, g.maxLead):
		h.State = Down
	case h.Behind > g.maxLead:
		h.State = Failing
	case h.Behind > g.maxAhead:
		h.State = Waiting
	}
	return h
}
