package idgen

import (
	"fmt"
	"log/slog"
	"time"
)

// logger returns the logger for the next message. It is a function because a program
// may set slog.Default after NewPool.
type logger func() *slog.Logger

// warnBefore is how long before the end of its layout a generator warns.
const warnBefore = 5 * 365 * 24 * time.Hour

// State says what a generator does with the next call. A larger State is worse.
type State uint8

const (
	Serving   State = iota // returns at once
	Waiting                // waits for the clock, up to MaxWait
	Unleased               // waits for the lease, until the context ends
	Failing                // returns a *ClockError
	Down                   // returns a *ClockError; the clock is behind by more than MaxBehind
	Exhausted              // returns ErrLayoutExhausted
	Closed                 // returns ErrClosed
)

func (s State) String() string {
	names := [...]string{"serving", "waiting", "unleased", "failing", "down", "exhausted", "closed"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Health is the state of a pool or a generator, for readiness probes and metrics.
type Health struct {
	State     State
	Behind    time.Duration // how far the clock is behind the next id; 0 if it is not
	Remaining time.Duration // until the layout is exhausted, 292 years at most
	Expiring  bool          // less than 5 years remain
	Reason    error         // why there is no lease, or why it was not renewed; nil if there is no problem
}

// Health reports what the generator would do if it were called now. Health itself
// uses up no id.
func (g *Generator) Health() Health {
	s := g.seq.Load()
	last := s.last.Load()
	if last < 0 {
		return g.unleased()
	}
	now := g.clock.now()
	next := g.next(last, 1, now)
	h := g.remaining(now)
	h.Behind = max(g.lead(next, now), 0)
	switch {
	case g.counter(next) >= g.limit:
		h.State = Exhausted
	case g.counter(next) >= s.bound.Load():
		h.State = Unleased
		_, h.Reason = g.watch()
	case h.Behind > max(g.maxBehind, s.maxLead):
		h.State = Down
	case h.Behind > s.maxLead:
		h.State = Failing
	case h.Behind > s.maxAhead:
		h.State = Waiting
	}
	return h
}

// remaining returns a Health that says how long the layout lasts.
func (c *core) remaining(now time.Duration) Health {
	left := max(c.end-max(now, 0), 0)
	return Health{Remaining: left, Expiring: left < warnBefore}
}

// unleased returns the health of a sealed generator.
func (g *Generator) unleased() Health {
	h := g.remaining(g.clock.now())
	select {
	case <-g.closed:
		h.State = Closed
	default:
		h.State = Unleased
		_, h.Reason = g.watch()
	}
	return h
}
