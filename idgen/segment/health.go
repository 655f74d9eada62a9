package segment

import "github.com/snowkey-go/snowkey/idgen"

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
		Remaining: s.cfg.within(s.bound, s.cfg.MaxValue+1).count(),
		Step:      s.demand.step,
		Reason:    s.reason,
	}
	switch {
	case s.closed:
		h.State = idgen.Closed
	case h.Ready > 0:
	case s.exhausted:
		h.State = idgen.Exhausted
	case s.reason != nil:
		h.State = idgen.Waiting
	}
	return h
}
