package keeper_test

import (
	"context"
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
}

func (s *lateClaims) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	row, ok, err := s.Memory.Claim(ctx, c)
	s.claimed = row
	time.Sleep(4 * time.Second)
	s.replied = time.Now()
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
		if least := keeperTerms(cfg).At(store.replied.UnixMicro()).RaisedFence; g.start < least || least <= store.claimed.Bound {
			t.Errorf("the lease starts at %d, the claim raised the bound to %d, and up to %d may be lost", g.start, store.claimed.Bound, least)
		}
	})
}
