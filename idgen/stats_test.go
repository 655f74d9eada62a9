package idgen_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

// While many calls draw ids and leases are lost, Issued must never decrease, or exceed
// the number of ids that were requested. Once all calls have ended, it should be
// exactly the number of ids that they returned.
func TestStatsIssued(t *testing.T) {
	for name, layout := range map[string]idgen.Layout{"default": idgen.DefaultLayout(), "narrow": idgen.JSSafe()} {
		t.Run(name, func(t *testing.T) {
			pool, k := leasedPool(t, idgen.Config{Layout: layout, MaxWait: time.Millisecond})
			k.Grant(1, 0, idgen.NoLimit.Nanoseconds())
			// We can't cancel calls here, because the ids of calls that give up count
			// as issued.
			ctx := t.Context()
			var asked, returned atomic.Int64
			var done atomic.Bool
			var drawing, watching sync.WaitGroup
			for i := range 8 {
				g := pool.Named([]string{"", "orders"}[i%2])
				drawing.Go(func() {
					for n := int64(1); !done.Load(); n = n%7 + 1 {
						asked.Add(n + 1)
						ids, err := g.NextN(ctx, int(n))
						if err == nil && int64(len(ids)) != n {
							t.Errorf("%d ids instead of %d", len(ids), n)
						}
						returned.Add(int64(len(ids)))
						if _, err := g.Next(ctx); err == nil {
							returned.Add(1)
						}
						if n == 7 {
							time.Sleep(3 * time.Millisecond) // make sure that ticks are skipped
						}
					}
				})
			}
			watching.Go(func() {
				for last := int64(0); !done.Load(); {
					s := pool.Stats()
					if most := asked.Load(); s.Issued < last || s.Issued > most {
						t.Errorf("%d ids were issued, after %d, and %d were asked for", s.Issued, last, most)
						return
					}
					last = s.Issued
				}
			})
			for range 20 {
				time.Sleep(5 * time.Millisecond)
				k.Grant(1, k.Seal(nil), idgen.NoLimit.Nanoseconds())
			}
			done.Store(true)
			drawing.Wait()
			watching.Wait()
			for range 2 {
				if s := pool.Stats(); s.Issued != returned.Load() || s.Names != 2 {
					t.Errorf("%+v, and calls returned %d ids", s, returned.Load())
				}
				k.Seal(nil)
			}
		})
	}
}

func TestStatsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := holdClock(epoch.AddDate(1, 0, 0))
		pool := newPool(t, idgen.Config{Clock: clock.Now, MaxAhead: time.Millisecond, MaxWait: time.Minute})
		if s := pool.Stats(); s.Issued != 0 || s.Waits != 0 || s.Window != idgen.NoLimit || s.Lease.Claims != 0 {
			t.Errorf("at the start: %+v", s)
		}
		errtest.Must(pool.NextN(t.Context(), 1<<12))(t)
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer stop()
		if _, err := pool.NextN(ctx, 3<<12); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		s := pool.Stats()
		if s.Issued != 4<<12 || s.Waits != 1 || s.WaitTime != 20*time.Millisecond || s.Lead < 2*time.Millisecond || s.ClockErrors != 0 {
			t.Errorf("after a wait: %+v", s)
		}
		clock.step(-2 * time.Minute)
		if _, err := pool.Next(t.Context()); err == nil {
			t.Error("the clock is set back, and an id is issued")
		}
		if s := pool.Stats(); s.ClockErrors != 1 || s.Issued != 4<<12 {
			t.Errorf("after an error: %+v", s)
		}
		if s := (*idgen.Pool)(nil).Stats(); s != (idgen.Stats{}) {
			t.Errorf("of no pool: %+v", s)
		}
	})
}
