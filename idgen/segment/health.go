package segment

import "github.com/snowkey-go/snowkey/idgen"

// Health is the state of a [Segment], for instance for a readiness probe.
type Health struct {
	// State says what the next call does. Serving: the call returns at once, or
	// after a fetch if no number is ready. Waiting: no number is ready and the last
	// fetch failed, so the call waits. Exhausted and Closed: the call fails.
	State idgen.State

	Ready     int64 // how many numbers were fetched and are not used yet
	Remaining int64 // how many are left to fetch, as far as this Segment knows
	Step      int64 // how many numbers the next fetch requests
	Reason    error // why the last fetch failed, a *StoreError; nil if it did not
}

// Health reports the state of the Segment. It takes no number.
func (s *Segment) Health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := Health{
		Ready:     s.left(),
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
