package keeper_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/lease/leasetest"
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
				store := &leasetest.Memory{Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}
				store.After(func(called string) {
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
		store := &leasetest.Memory{Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}
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
