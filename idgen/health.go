package idgen

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

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

// cause returns the kind of a reason, one of Causes, or "" if there is none.
func cause(reason error) string {
	_, blocked := errors.AsType[*leased.BlockedError](reason)
	switch {
	case reason == nil:
		return ""
	case blocked:
		return "blocked"
	case errors.Is(reason, context.DeadlineExceeded):
		return "no_answer"
	}
	return "other"
}

// Health reports what would happen if the generator were called now, without using up an
// id.
func (g *Generator) Health() Health {
	t := g.tenure.Load()
	last := t.last.Load()
	now := g.clock.now()
	left := max(g.end-max(now, 0), 0)
	h := Health{Remaining: left, Expiring: left < warnBefore}
	next := g.next(last, 1, now)
	behind := max(g.lead(next, now), 0)
	switch {
	case last < 0 && g.life.Err() != nil:
		h.State = Closed
	case last < 0:
		h.State = Unleased
	case g.counter(next) >= g.limit:
		h.State = Exhausted
	case g.counter(next) >= t.bound.Load():
		h.State = Unleased
	case behind > max(g.cfg.MaxBehind, t.maxLead):
		h.State = Down
	case behind > t.maxLead:
		h.State = Failing
	case behind > t.maxAhead:
		h.State = Waiting
	}
	if last >= 0 {
		h.Behind = behind
	}
	if h.State == Unleased {
		_, h.Reason = g.watch()
		h.Cause = cause(h.Reason)
	}
	return h
}

// Stats counts what a pool and all of its generators have done since the pool was
// created. It's meant for dashboards. For what the pool would do right now, see [Health].
type Stats struct {
	// Issued is the number of ids made. It never decreases. Note that it includes ids
	// from calls that gave up waiting for the clock.
	Issued int64

	// Waits is the number of calls that waited for the clock, and WaitTime the total time
	// they spent waiting. LeaseWaits and LeaseWaitTime are the same for the lease. Calls
	// are counted once they're done waiting.
	Waits, LeaseWaits       int64
	WaitTime, LeaseWaitTime time.Duration

	ClockErrors int64 // calls that failed with a ClockError

	// Lead is how far the latest id of any generator is ahead of the clock, or 0 if none
	// are ahead.
	Lead time.Duration

	// Window is how long ids can still be issued without renewing the lease again. It's 0
	// if there's no lease, and NoLimit if the worker number isn't leased in the first
	// place.
	Window time.Duration

	Names int // the number of generators, including the one with the name ""

	// Lease counts what happened to the pool's leases. All fields are zero if the worker
	// number isn't leased.
	Lease struct {
		Claims   int64 // worker numbers that were leased
		Renewals int64 // renewals that the store confirmed
		Failures int64 // renewals that the store refused, did not answer, or answered with an error
		Losses   int64 // leases that were lost

		// RenewalTime is the total time spent on renewals, and LastRenewal the time spent
		// on the latest one. Both include failed renewals.
		RenewalTime, LastRenewal time.Duration
	}
}

// Stats returns the pool's counters. Don't call it for every id: it takes the lock that
// [Pool.Named] needs for new names, and gets slower as the number of names grows. The
// Stats of a nil pool are zero.
func (p *Pool) Stats() Stats {
	if p == nil {
		return Stats{}
	}
	s := Stats{
		Waits: p.waits.count.Load(), WaitTime: time.Duration(p.waits.time.Load()),
		LeaseWaits: p.leaseWaits.count.Load(), LeaseWaitTime: time.Duration(p.leaseWaits.time.Load()),
		ClockErrors: p.clockErrors.Load(),
		Window:      NoLimit,
	}
	if p.keeper != nil {
		s.Lease, s.Window = p.keeper.Stats(), 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.main.clock.now()
	if t := p.main.tenure.Load(); t.last.Load() >= 0 && p.keeper != nil {
		s.Window = max(p.lead(t.bound.Load(), now), 0)
	}
	s.Names = p.names
	for _, named := range p.named.Range {
		g := named.(*Generator)
		last := g.tenure.Load().last.Load()
		if last > 0 {
			s.Lead = max(s.Lead, p.lead(last, now))
		}
		s.Issued += max(last, 0) - g.skipped.Load()
	}
	p.issued = max(p.issued, s.Issued)
	s.Issued = p.issued
	return s
}

// A waitCount counts waits and adds up their time.
type waitCount struct{ count, time atomic.Int64 }

// begin begins a wait. The caller must call end when the wait is over.
func (w *waitCount) begin() (end func()) {
	began := time.Now()
	return func() {
		w.count.Add(1)
		w.time.Add(int64(time.Since(began)))
	}
}
