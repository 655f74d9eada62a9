package snowkey_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// Tests that no id repeats under random faults. Processes start, and are closed or
// killed. Calls of the store fail, hang, are late or lose their replies. Rows are
// deleted, and commits are lost in a failover to a server whose clock is behind.
func TestIDsAreUniqueUnderFaults(t *testing.T) { uniqueUnderFaults(t, 2) }

// uniqueUnderFaults has a run with ticks of a millisecond and one of days for each two
// seeds.
func uniqueUnderFaults(t *testing.T, seeds uint64) {
	const steps = 200
	var issued atomic.Int64
	t.Cleanup(func() {
		if n := issued.Load(); n < 10_000 {
			t.Errorf("only %d ids", n)
		}
	})
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				var behind atomic.Int64
				store := &leasetest.Memory{Clock: func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }}
				layout, lifetimes := layout(t), 3*time.Second
				if seed%2 == 1 { // use ticks of a day, so that the run takes several days
					layout, lifetimes = days(t), 20*time.Minute
					openLayout(t, store, layout, snowkey.Config{}).Close(t.Context())
				}
				terms := lease.Terms{Namespace: "default", Layout: layout.String()}
				faults := rand.New(rand.NewPCG(seed, 2))
				var fm sync.Mutex
				store.Fault(func(string) leasetest.Fault {
					fm.Lock()
					defer fm.Unlock()
					if faults.IntN(5) > 0 {
						return leasetest.None
					}
					return leasetest.Fault(faults.IntN(int(leasetest.Late) + 1))
				})
				seen := map[int64]bool{}
				var pools []*idgen.Pool
				snapshot, losses := store.Snapshot(), 0
				for range steps {
					switch r.IntN(8) {
					case 0, 1:
						if len(pools) < 6 {
							ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
							p, err := snowkey.Open(ctx, store, snowkey.Config{Layout: layout, MaxWorker: 3, Logger: slog.New(slog.DiscardHandler)})
							cancel()
							if err == nil {
								pools = append(pools, p)
							}
						}
					case 2:
						if len(pools) > 0 {
							i := r.IntN(len(pools))
							pools[i].Close(t.Context())
							pools = append(pools[:i], pools[i+1:]...)
						}
					case 3:
						store.Deliver()
					case 4:
						if r.IntN(4) == 0 {
							snapshot = store.Snapshot()
						} else if r.IntN(6) == 0 {
							losses++
							store.Restore(snapshot)
							store.SetCurrent(fmt.Sprint("promoted ", losses))
							snapshot = store.Snapshot()
							// The two servers take turns, and one of them has a clock
							// that is behind.
							behind.Store(int64(losses%2) * int64(900*time.Millisecond))
						}
					case 5:
						if r.IntN(5) == 0 {
							store.Delete(t.Context(), terms, r.Int64N(4))
							snapshot = store.Snapshot() // otherwise a failover would bring the row back
						}
					}
					for _, p := range pools {
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
						ids, err := p.NextN(ctx, 1+r.IntN([]int{30, 300, 3000}[r.IntN(3)]))
						cancel()
						if err != nil {
							continue
						}
						for _, id := range ids {
							if seen[id] {
								t.Fatalf("id %d (%+v) twice", id, layout.Decode(id))
							}
							seen[id] = true
						}
					}
					time.Sleep(time.Duration(r.Int64N(int64(lifetimes))))
				}
				store.Fault(nil)
				for _, p := range pools {
					p.Close(context.Background())
				}
				issued.Add(int64(len(seen)))
			})
		})
	}
}
