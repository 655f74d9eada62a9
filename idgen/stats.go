package idgen

import (
	"sync/atomic"
	"time"
)

// Stats count what a pool has done since it was made, over all of its generators. They
// are for dashboards; [Health] says what the pool would do now.
type Stats struct {
	// Issued is the number of ids that were made. It never decreases. It includes the ids
	// of calls that gave up waiting for the clock, and all ids of the blocks that an
	// [Unordered] has taken.
	Issued int64

	// Waits is the number of calls that waited for the clock, and WaitTime is how long
	// they waited together. LeaseWaits and LeaseWaitTime are the same for the lease. A call
	// is counted when its wait ends.
	Waits, LeaseWaits       int64
	WaitTime, LeaseWaitTime time.Duration

	ClockErrors int64 // calls that failed with a ClockError

	// Lead is how far the latest id of any generator is ahead of the clock. It is 0 if
	// none is ahead.
	Lead time.Duration

	// Window is how long ids can be issued without another renewal of the lease. It is 0
	// without a lease, and NoLimit if the worker number is not leased.
	Window time.Duration

	Names int // how many generators there are, with the one of the name ""

	// Lease counts what happened to the leases of the pool. All is zero if the worker
	// number is not leased.
	Lease struct {
		Claims   int64 // worker numbers that were leased
		Renewals int64 // renewals that the store confirmed
		Failures int64 // renewals that the store refused, did not answer, or answered with an error
		Losses   int64 // leases that were lost

		// RenewalTime is how long all renewals took together, and LastRenewal how long
		// the last one took, whether it failed or not.
		RenewalTime, LastRenewal time.Duration
	}
}

// Stats returns the pool's counters. It takes the lock that [Pool.Named] takes for a new
// name, and a time that grows with the number of names. It is not for each id. The Stats
// of a nil pool are zero.
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
	now := p.clock.now()
	if t := p.tenure; t != nil && p.keeper != nil {
		s.Window = max(p.lead(t.bound.Load(), now), 0)
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

// issued returns the last number, or a negative one if the sequence is sealed, and how
// many ids the generator has issued. While calls skip numbers at the same time, it may
// count too few. The count of a sequence stays too low if a call is paused between the
// two steps of take until two more leases have ended. The caller holds the pool's lock.
func (g *Generator) issued() (last, n int64) {
	s := g.seq.Load()
	n = g.before
	if r := g.retired; r != nil {
		n += r.count(r.end)
	}
	if last = s.last.Load(); last >= 0 {
		n += s.count(last)
	}
	return last, n
}

// count returns how many of the numbers up to last were issued.
func (s *sequence) count(last int64) int64 { return last - s.tenure.before() - s.skipped.Load() }

// retire keeps a sequence that was just sealed. Calls that lost the race against the seal
// may still correct its count, so it is added up only when the next one is sealed.
func (g *Generator) retire(s *sequence) {
	if r := g.retired; r != nil {
		g.before += r.count(r.end)
	}
	g.retired = s
}

// A waitCount counts waits and their time.
type waitCount struct{ count, time atomic.Int64 }

// begin begins a wait, and returns the function that ends it.
func (w *waitCount) begin() (end func()) {
	began := time.Now()
	return func() {
		w.count.Add(1)
		w.time.Add(int64(time.Since(began)))
	}
}
