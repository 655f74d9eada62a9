package keeper_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// lateClaims is a store without a clock: a claim raises the bound by the time when it was
// sent, and is executed four seconds later.
type lateClaims struct {
	*leasetest.Memory
	claimed lease.Row
	replied time.Time
	asleep  func() // called when the first claim was executed
}

func (s *lateClaims) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	row, ok, err := s.Memory.Claim(ctx, c)
	s.claimed = row
	time.Sleep(4 * time.Second)
	s.replied = time.Now()
	if s.asleep != nil {
		s.asleep()
		s.asleep = nil
	}
	return row, ok, err
}

// With a hold-off, a lease starts above everything that can have been granted and lost
// before its claim was executed.
func TestHoldOffOfALateClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cfg := &leasetest.Memory{}, config(3, 3)
		m.SetVolatile(true)
		store := &lateClaims{Memory: m}
		_, r := openKeeper(t, store, cfg)
		g := r.grants[0]
		if least := cfg.Terms.At(store.replied.UnixMicro()).RaisedFence; g.start < least || least <= store.claimed.Bound {
			t.Errorf("the lease starts at %d, the claim raised the bound to %d, and up to %d may be lost", g.start, store.claimed.Bound, least)
		}
	})
}

// The machine sleeps for ten seconds while a claim is under way, and its monotonic clock stands
// still. The reply says nothing about the time, so the process must read the row first.
func TestAsleepDuringAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cfg := &leasetest.Memory{}, config(3, 3)
		var slept atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
		cfg.Clock, m.Clock = clock, clock
		m.SetVolatile(true)
		store := &lateClaims{Memory: m, asleep: func() { slept.Store(int64(10 * time.Second)) }}
		_, r := openKeeper(t, store, cfg)
		least := cfg.Terms.At(store.claimed.Now + (14 * time.Second).Microseconds()).RaisedFence
		if g := r.grants[0]; g.start < least {
			t.Errorf("the lease starts at %d, and up to %d may be lost", g.start, least)
		}
	})
}
