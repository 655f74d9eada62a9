package segment

import (
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Health describes the state of a [Segment], for use in a readiness probe for example.
type Health struct {
	// State says what to expect from the next call. Serving means that it returns right
	// away, or after a fetch if no numbers are ready. Waiting means that it has to wait,
	// since no numbers are ready and the last fetch failed. If the state is Exhausted or
	// Closed, the call returns an error.
	State idgen.State

	Ready     int64 // how many fetched numbers have not been used yet
	Remaining int64 // how many numbers are left to fetch, as far as this Segment knows
	Step      int64 // how many numbers the next fetch will request
	Reason    error // why the last fetch failed, as a *StoreError; nil if it succeeded
}

// Health reports the state of the Segment without using up a number.
func (s *Segment) Health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := Health{
		Ready:     s.ready,
		Remaining: s.cfg.within(s.bound, s.cfg.MaxValue+1).n,
		Step:      s.demand.step,
		Reason:    s.reason,
	}
	switch {
	case s.closed():
		h.State = idgen.Closed
	case h.Ready > 0:
	case s.bound > s.cfg.MaxValue:
		h.State = idgen.Exhausted
	case s.reason != nil:
		h.State = idgen.Waiting
	}
	return h
}

// Stats count what a [Segment] has done since it was created. They're meant for
// dashboards. See [Health] for what to expect from the next call.
type Stats struct {
	Issued int64 // numbers that calls have got

	// Waits is the number of calls that had to wait because too few numbers were ready,
	// and WaitTime the total time they spent waiting. Calls are counted once they're done
	// waiting.
	Waits    int64
	WaitTime time.Duration

	Fetches  int64 // fetches that the store granted
	Failures int64 // fetches that failed, or that Close canceled

	// FetchTime is the total time of all fetches, and LastFetch the time of the latest
	// one. Both include failed fetches.
	FetchTime, LastFetch time.Duration
}

// Stats returns the Segment's counters. It doesn't wait for the store.
func (s *Segment) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Issued = s.demand.granted - s.ready
	return stats
}
