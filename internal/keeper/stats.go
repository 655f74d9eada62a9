package keeper

import (
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// stats contains the counters of [leased.Stats]. They are atomic because other
// goroutines read them.
type stats struct {
	claims, renewals, failures, losses atomic.Int64
	total, last                        atomic.Int64 // of all renewals, in nanoseconds
}

func (s *stats) renewed(ok bool, took time.Duration) {
	if ok {
		s.renewals.Add(1)
	} else {
		s.failures.Add(1)
	}
	s.total.Add(int64(took))
	s.last.Store(int64(took))
}

// Stats implements [leased.Keeper].
func (k *keeper) Stats() leased.Stats {
	s := &k.stats
	return leased.Stats{
		Claims: s.claims.Load(), Renewals: s.renewals.Load(), Failures: s.failures.Load(), Losses: s.losses.Load(),
		RenewalTime: time.Duration(s.total.Load()), LastRenewal: time.Duration(s.last.Load()),
	}
}
