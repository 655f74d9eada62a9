package keeper_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
)

// A keeper must free the row of a lease that has expired. Otherwise, a row that expired
// while the store's clock was ahead would stay in use even after the clock was
// corrected. In this test, the clock is corrected just after the renewal that failed,
// or after the read of the row.
func TestExpiredWhileTheStoresClockWasAhead(t *testing.T) {
	for _, op := range []string{"Renew", "Rows"} {
		t.Run("corrected after "+op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ahead atomic.Int64
				m := &kvtest.Memory{Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}
				store := after(m, func(called string) {
					if called == op {
						ahead.CompareAndSwap(int64(2*time.Hour), 0)
					}
				})
				_, r := openKeeper(t, store, config(5, 5))
				ahead.Store(int64(time.Hour)) // the lease expires, and the keeper claims another
				time.Sleep(time.Minute)
				first, n := r.last()
				if n < 2 {
					t.Fatalf("%d leases", n)
				}
				ahead.Store(int64(2 * time.Hour)) // that lease expires too
				time.Sleep(time.Minute)
				if ahead.Load() != 0 {
					t.Fatalf("the keeper did not call %s", op)
				}
				if second, n := r.last(); n < 3 || second.start < first.bound || second.bound <= second.start || !r.leased {
					t.Errorf("lease %d is %+v, after %+v", n, second, first)
				}
				disjoint(t, r)
			})
		})
	}
}

// On a volatile store, a claim raises the bound by the store's clock alone. If a keeper
// claimed while that clock is an hour ahead, the worker number could not be used for an
// hour.
func TestNoClaimWhileTheClockOfAVolatileStoreIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		store := &kvtest.Memory{Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}
		store.SetVolatile(true)
		_, r := openKeeper(t, store, config(5, 5))
		time.Sleep(time.Minute)
		ahead.Store(int64(time.Hour)) // the lease expires
		time.Sleep(time.Minute)
		synctest.Wait()
		if r.leased {
			t.Fatal("the lease did not expire")
		}
		ahead.Store(0)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		last, n := r.last()
		limit := config(5, 5).Terms.At(time.Now().UnixMicro())
		if n < 2 || !r.leased || last.start > limit.Tick || last.bound > limit.Cap {
			t.Errorf("lease %d is %+v, and the limits are %+v", n, last, limit)
		}
		disjoint(t, r)
	})
}

// lateClaims is a store without a clock: a claim raises the bound by the time when it was
// sent, and is executed four seconds later.
type lateClaims struct {
	*kvtest.Memory
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
		m, cfg := &kvtest.Memory{}, config(3, 3)
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
		m, cfg := &kvtest.Memory{}, config(3, 3)
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
