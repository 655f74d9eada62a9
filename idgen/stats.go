package idgen

import (
	"sync/atomic"
	"time"
)

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
	if p.tenure != nil && p.keeper != nil {
		s.Window = max(p.lead(p.bound, now), 0)
	}
	s.Names = p.names
	for _, named := range p.named.Range {
		g := named.(*Generator)
		last, issued := g.issued()
		s.Issued += issued
		if last > 0 {
			s.Lead = max(s.Lead, p.lead(last, now))
		}
	}
	p.issued = max(p.issued, s.Issued)
	s.Issued = p.issued
	return s
}

// issued returns the last number, or a negative one if the sequence is sealed, as well
// as the number of ids that the generator has issued. It may count too few if other
// calls skip numbers at the same time, but that usually corrects itself. The exception
// is a call that is paused between the two steps of take until two more leases have
// ended, because then the count of its sequence stays too low. The caller must hold the
// pool's mu.
func (g *Generator) issued() (last, n int64) {
	s := g.seq.Load()
	n = g.before
	if r := g.retired; r != nil {
		n += r.count(g.retiredEnd)
	}
	if last = s.last.Load(); last >= 0 {
		n += s.count(last)
	}
	return last, n
}

// count returns the number of ids issued from the numbers up to last.
func (s *sequence) count(last int64) int64 { return last - s.before - s.skipped.Load() }

// retire keeps a sequence that was just sealed at end. We can't add up its count yet,
// because calls that lost the race against the seal may still correct it. Instead, we do
// that when the next sequence is sealed.
func (g *Generator) retire(s *sequence, end int64) {
	if r := g.retired; r != nil {
		g.before += r.count(g.retiredEnd)
	}
	g.retired, g.retiredEnd = s, end
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
