package keeper

import (
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// stats are what a keeper has counted. Other goroutines read them.
type stats struct {
	mu sync.Mutex
	leased.Stats
}

func (s *stats) count(f func(*leased.Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.Stats)
}

func (s *stats) renewed(ok bool, took time.Duration) {
	s.count(func(s *leased.Stats) {
		if ok {
			s.Renewals++
		} else {
			s.Failures++
		}
		s.RenewalTime += took
		s.LastRenewal = took
	})
}

// Stats implements [leased.Keeper].
func (k *keeper) Stats() (s leased.Stats) {
	k.stats.count(func(now *leased.Stats) { s = *now })
	return s
}
