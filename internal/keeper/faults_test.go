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
	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// Processes start, and are closed, killed and paused. Their clocks jump, the network loses
// requests and replies, an operator frees worker numbers, and the store fails over to a
// server that lacks commits and has another clock. No counter may be granted a second time,
// and in the end all processes must have counters of the present.
func TestGrantsAreDisjointUnderFaults(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			for _, overlap := range runFaults(t, seed, 8, "") {
				t.Error(overlap)
			}
		})
	}
}

// Without one of the rules, the test above finds counters that were granted a second time.
func TestFaultsFindBrokenRules(t *testing.T) {
	for _, rule := range []string{"start", "fence", "release", "revision"} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(100) {
				if len(runFaults(t, seed, 8, rule)) > 0 {
					return
				}
			}
			t.Error("no counter was granted a second time")
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

// runFaults runs keepers for about ten minutes in a bubble, without the broken rule. It
// returns the grants that overlap.
func runFaults(t *testing.T, seed uint64, processes int, broken string) (found []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 1))
		var behind atomic.Int64
		store := &leasetest.Memory{Clock: func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }}
		store.Fault(func(string) leasetest.Fault {
			if rand.IntN(6) > 0 {
				return leasetest.None
			}
			return leasetest.Fault(rand.IntN(int(leasetest.Late) + 1))
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
			network := &hooked{store, func(ctx context.Context, _ string) error {
				time.Sleep(time.Until(time.Unix(0, p.paused.Load())))
				if p.killed.Load() {
					return leasetest.ErrFault
				}
				return nil
			}}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if k, err := keeper.Open(ctx, &withoutRule{hooked: network, rule: broken}, p, own); err == nil {
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
					if failovers++; broken != "fence" {
						store.SetCurrent(fmt.Sprint("promoted ", failovers))
					}
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
		now := keeperTerms(cfg).At(time.Now().UnixMicro()).Tick
		for _, p := range live {
			if last, _ := p.last(); broken == "" && last.bound < now {
				t.Errorf("a process has the counters %+v, and now is %d", last, now)
			}
			p.keeper.Close(t.Context())
		}
		var recorders []*recorder
		for _, p := range all {
			recorders = append(recorders, p.recorder)
		}
		found = overlaps(recorders...)
		if n := store.Calls("Claim"); broken == "" && (n < 20 || failovers == 0) {
			t.Errorf("only %d claims and %d failovers", n, failovers)
		}
	})
	return found
}

// withoutRule is a store that leaves out one of the rules.
type withoutRule struct {
	*hooked
	rule  string
	probe lease.Probe // the last one
}

// Without the rule "start", a lease starts at the store's time instead of the bound or fence.
func (s *withoutRule) Probe(ctx context.Context, q lease.Query) (lease.Probe, error) {
	p, err := s.hooked.Probe(ctx, q)
	if s.probe = p; s.rule == "start" && p.HasFree {
		p.Row.Bound, p.Fence = q.Terms.At(p.Now).Tick, 0
	}
	return p, err
}

func (s *withoutRule) Claim(ctx context.Context, c lease.Claim) (lease.Row, bool, error) {
	if s.rule == "start" {
		c.Seen, c.Fence = s.probe.Row, s.probe.Fence
	}
	return s.hooked.Claim(ctx, c)
}

// Without the rule "release", a process gives back a second of counters that it has used.
func (s *withoutRule) Release(ctx context.Context, terms lease.Terms, held lease.Row, unused int64) (bool, error) {
	if s.rule == "release" {
		unused -= terms.PerTick * 1000
	}
	return s.hooked.Release(ctx, terms, held, unused)
}

// Without the rule "revision", a renewal succeeds although another process has the row.
func (s *withoutRule) Renew(ctx context.Context, r lease.Renewal) (lease.Row, bool, error) {
	row, ok, err := s.hooked.Renew(ctx, r)
	if s.rule == "revision" && err == nil && !ok {
		row, ok = r.Held, true
		row.Bound = max(row.Bound, r.Wanted)
	}
	return row, ok, err
}
