package idgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// logger returns the logger for the next message. We can't keep the logger itself,
// because a program may call slog.SetDefault after NewPool.
type logger func() *slog.Logger

// warnBefore is how long before the end of its layout a pool begins to warn.
const warnBefore = 5 * 365 * 24 * time.Hour

// State says what a generator will do on the next call. Larger is worse.
type State uint8

const (
	Serving   State = iota // returns at once
	Waiting                // waits for the clock, up to MaxWait
	Unleased               // waits for the lease, until the context ends
	Failing                // returns a *ClockError
	Down                   // returns a *ClockError, because the clock is behind by more than MaxBehind
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

// Health is the state of a pool or generator, for use in readiness probes and metrics.
type Health struct {
	State     State
	Behind    time.Duration // how far the clock is behind the next id, or 0 if it is not behind
	Remaining time.Duration // until the layout is exhausted, 292 years at most
	Expiring  bool          // whether less than 5 years remain
	Reason    error         // why there is no lease or why it could not be renewed, or nil if all is well
	Cause     string        // the kind of Reason, for metrics: one of Causes, or "" if Reason is nil
}

// Causes are the values of [Health].Cause. The lease can't be renewed because
//
//	blocked    this process itself keeps the store from answering (lease.BlockedError)
//	no_answer  the store has not answered in time
//	other      of what Reason says
var Causes = []string{"blocked", "no_answer", "other"}

// because sets Reason and Cause.
func (h *Health) because(reason error) {
	h.Reason = reason
	_, blocked := errors.AsType[*leased.BlockedError](reason)
	switch {
	case reason == nil:
	case blocked:
		h.Cause = "blocked"
	case errors.Is(reason, context.DeadlineExceeded):
		h.Cause = "no_answer"
	default:
		h.Cause = "other"
	}
}

// Health reports what would happen if the generator were called now, without using up an
// id.
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
		_, reason := g.watch()
		h.because(reason)
	case h.Behind > max(g.maxBehind, s.maxLead):
		h.State = Down
	case h.Behind > s.maxLead:
		h.State = Failing
	case h.Behind > s.maxAhead:
		h.State = Waiting
	}
	return h
}

// remaining returns a Health with the remaining time of the layout.
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
		_, reason := g.watch()
		h.because(reason)
	}
	return h
}
