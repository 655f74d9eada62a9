package segment

import "github.com/snowkey-go/snowkey/idgen"

// Health describes the state of a [Segment], for instance for a readiness probe.
type Health struct {
	// State says what to expect of the next call. If it is Serving, the call returns at
	// once, or after a fetch if no number is ready. If it is Waiting, the call has to
	// wait, because no number is ready and the last fetch failed. If it is Exhausted or
	// Closed, the call returns an error.
	State idgen.State

	Ready     int64 // how many fetched numbers have not been used yet
	Remaining int64 // how many numbers are left to fetch, as far as this Segment knows
	Step      int64 // how many numbers the next fetch will request
	Reason    error // why the last fetch failed, as a *StoreError; nil if it succeeded
}

// Health reports the state of the Segment. It does not use up a number.
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
