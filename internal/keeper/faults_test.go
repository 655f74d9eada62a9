package keeper_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/internal/leased"
)

// seeds is how often TestGrantsAreDisjointUnderFaults runs. It is more often at night.
var seeds = uint64(8)

// Processes start, and are closed, killed and paused. Their clocks jump, the network loses
// requests and replies, an operator frees worker numbers, and the store fails over to a
// server that lacks commits and has another clock. No counter may be granted a second time,
// and in the end all processes must have counters of the present.
func TestGrantsAreDisjointUnderFaults(t *testing.T) {
	for seed := range seeds {
		processes := 8
		if seed >= 8 {
			processes = []int{3, 8, 64}[seed%3]
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runFaults(t, seed, processes) })
		})
	}
}

// A process has a keeper, a clock, and a network to the store.
type process struct {
	*recorder
	keeper leased.Keeper
	ahead  atomic.Int64 // of the clock
	paused atomic.Int64 // until when, in nanoseconds since 1970
	killed atomic.Bool
}

// runFaults runs keepers for about ten minutes.
func runFaults(t *testing.T, seed uint64, processes int) {
	r := rand.New(rand.NewPCG(seed, 1))
	var behind atomic.Int64
	store := &kvtest.Memory{Clock: func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }}
	store.Fault(func(string) kvtest.Fault {
		if rand.IntN(6) > 0 {
			return kvtest.None
		}
		return kvtest.Fault(rand.IntN(int(kvtest.Late) + 1))
	})
	cfg := config(0, int64(processes)-1)
	cfg.Workers = max(cfg.Workers, int64(processes))
	var all, live []*process
	start := func() {
		p := &process{recorder: &recorder{unused: func(start, bound int64) int64 { return start + rand.Int64N(bound-start+1) }}}
		p.ahead.Store(r.Int64N(int64(1600*time.Millisecond)) - int64(800*time.Millisecond))
		own := cfg
		own.Clock = func() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) }
		all = append(all, p)
		// A pause delays the request, whose context may end in the meantime.
		network := &hooked{Memory: store, hook: func(ctx context.Context, _ string) error {
			time.Sleep(time.Until(time.Unix(0, p.paused.Load())))
			if p.killed.Load() {
				return kvtest.ErrFault
			}
			return nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if k, err := keeper.Open(ctx, network, p, own); err == nil {
			p.keeper = k
			live = append(live, p)
		}
	}
	remove := func() *process {
		if len(live) == 0 {
			return nil
		}
		i := r.IntN(len(live))
		p := live[i]
		live = slices.Delete(live, i, i+1)
		return p
	}
	before, failovers := store.Snapshot(), 0
	for range 300 {
		switch r.IntN(12) {
		case 0, 1, 2:
			if len(live) < processes {
				start()
			}
		case 3:
			if p := remove(); p != nil {
				p.keeper.Close(t.Context())
			}
		case 4:
			if p := remove(); p != nil {
				p.killed.Store(true)
				p.keeper.Close(t.Context())
			}
		case 5:
			if len(live) > 0 {
				live[r.IntN(len(live))].paused.Store(time.Now().Add(time.Duration(r.Int64N(int64(time.Minute)))).UnixNano())
			}
		case 6:
			if len(live) > 0 {
				live[r.IntN(len(live))].ahead.Store(r.Int64N(int64(10*time.Minute)) - int64(5*time.Minute))
			}
		case 7:
			store.Deliver()
		case 8:
			before = store.Snapshot()
		case 9:
			if r.IntN(3) == 0 {
				store.Restore(before)
				failovers++
				store.SetCurrent(fmt.Sprint("promoted ", failovers))
				behind.Store(int64(failovers%2) * int64(900*time.Millisecond))
				before = store.Snapshot()
			}
		case 10:
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			keeper.FreeWorker(ctx, store, "default", cfg.Layout, r.Int64N(int64(processes)))
			cancel()
		}
		time.Sleep(time.Duration(r.Int64N(int64(3 * time.Second))))
	}
	for _, p := range live {
		p.ahead.Store(0)
	}
	store.Fault(nil)
	behind.Store(0)
	time.Sleep(2 * time.Minute)
	now := cfg.Terms.At(time.Now().UnixMicro()).Tick
	for _, p := range live {
		if last, _ := p.last(); last.bound < now {
			t.Errorf("a process has the counters %+v, and now is %d", last, now)
		}
		p.keeper.Close(t.Context())
	}
	var recorders []*recorder
	for _, p := range all {
		recorders = append(recorders, p.recorder)
	}
	disjoint(t, recorders...)
	if n := store.Calls("Claim"); n < 20 || failovers == 0 {
		t.Errorf("only %d claims and %d failovers", n, failovers)
	}
}
