package segment

import "time"

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
	stats.Issued = s.demand.granted - s.dropped - s.ready
	return stats
}

// waited counts a call that has waited since began. The caller must hold mu.
func (s *Segment) waited(began time.Time) {
	s.stats.Waits++
	s.stats.WaitTime += time.Since(began)
}

// fetched counts a fetch. The caller must not hold mu.
func (s *Segment) fetched(began time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.stats.Failures++
	} else {
		s.stats.Fetches++
	}
	s.stats.LastFetch = time.Since(began)
	s.stats.FetchTime += s.stats.LastFetch
}
