package idgen

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// While many calls draw ids and leases are lost, Issued must never decrease, or exceed
// the number of ids that were requested. Once all calls have ended, it should be
// exactly the number of ids that they returned.
func TestStatsIssued(t *testing.T) {
	for name, layout := range map[string]Layout{"default": DefaultLayout(), "narrow": JSSafe()} {
		t.Run(name, func(t *testing.T) {
			var i leased.Issuer
			p, err := newLeased(Config{Layout: layout, MaxWait: time.Millisecond}, func(issuer leased.Issuer) (leased.Keeper, error) {
				i = issuer
				i.Grant(1, 0, NoLimit.Nanoseconds())
				return granted{}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var asked, returned atomic.Int64
			draw := func(n int64, ids []int64, err error) {
				if err == nil && int64(len(ids)) != n {
					t.Errorf("%d ids instead of %d", len(ids), n)
				}
				returned.Add(int64(len(ids)))
			}
			// We can't cancel calls here, because the ids of calls that give up count
			// as issued.
			ctx := t.Context()
			var done atomic.Bool
			var drawing, watching sync.WaitGroup
			for range 4 {
				for _, g := range []*Generator{p.Named(""), p.Named("orders")} {
					drawing.Go(func() {
						for n := int64(1); !done.Load(); n = n%7 + 1 {
							asked.Add(n)
							ids, err := g.NextN(ctx, int(n))
							draw(n, ids, err)
							asked.Add(1)
							if _, err := g.Next(ctx); err == nil {
								returned.Add(1)
							}
							if n == 7 {
								time.Sleep(3 * time.Millisecond) // make sure that ticks are skipped
							}
						}
					})
				}
			}
			watching.Go(func() {
				for last := int64(0); !done.Load(); {
					s := p.Stats()
					if most := asked.Load(); s.Issued < last || s.Issued > most {
						t.Errorf("%d ids were issued, after %d, and %d were asked for", s.Issued, last, most)
						return
					}
					last = s.Issued
				}
			})
			for range 20 {
				time.Sleep(5 * time.Millisecond)
				i.Grant(1, i.Seal(nil), NoLimit.Nanoseconds())
			}
			done.Store(true)
			drawing.Wait()
			watching.Wait()
			if s := p.Stats(); s.Issued != returned.Load() || s.Names != 2 {
				t.Errorf("%+v, and calls returned %d ids", s, returned.Load())
			}
			i.Seal(nil)
			if s := p.Stats(); s.Issued != returned.Load() {
				t.Errorf("after the seal: %+v, and calls returned %d ids", s, returned.Load())
			}
		})
	}
}

// A reader between the two steps of take may count too few ids, but not too many.
func TestStatsWhileNumbersAreSkipped(t *testing.T) {
	const last, first, final = 10, 4096, 4097 // take issues two ids
	s := begun(&tenure{before: last})
	s.skipped.Add(first - last - 1)
	if n := s.count(s.last.Load()); n > 2 {
		t.Errorf("a reader between the steps counts %d ids", n)
	}
	s = begun(&tenure{before: last})
	if !s.take(last, first, final) || s.count(s.last.Load()) != 2 {
		t.Errorf("%d ids were issued, want 2", s.count(s.last.Load()))
	}
	if s.take(last, first, final) || s.count(s.last.Load()) != 2 {
		t.Errorf("after a call that lost the race, %d ids were issued, want 2", s.count(s.last.Load()))
	}
}

func begun(t *tenure) *sequence {
	g := &Generator{core: &core{unit: 1}}
	g.begin(t)
	return g.seq.Load()
}

func TestStatsWaits(t *testing.T) {
	var now atomic.Int64
	start := time.Now() // not a fixed time, because an earlier run of this test had the same worker number
	clock := func() time.Time { return start.Add(time.Duration(now.Load())) }
	p, err := NewPool(Config{Worker: func(int) (int64, error) { return 77, nil }, Clock: clock, MaxAhead: time.Millisecond, MaxWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	if s := p.Stats(); s.Issued != 0 || s.Waits != 0 || s.Window != NoLimit || s.Lease.Claims != 0 {
		t.Errorf("at the start: %+v", s)
	}
	if _, err := p.NextN(t.Context(), 1<<12); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if _, err := p.NextN(ctx, 3<<12); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	s := p.Stats()
	if s.Issued != 4<<12 || s.Waits != 1 || s.WaitTime <= 0 || s.Lead < 2*time.Millisecond || s.ClockErrors != 0 {
		t.Errorf("after a wait: %+v", s)
	}
	now.Store(int64(-2 * time.Minute))
	if _, err := p.Next(t.Context()); err == nil {
		t.Error("the clock is set back, and an id is issued")
	}
	if s := p.Stats(); s.ClockErrors != 1 || s.Issued != 4<<12 {
		t.Errorf("after an error: %+v", s)
	}
	if s := (*Pool)(nil).Stats(); s != (Stats{}) {
		t.Errorf("of no pool: %+v", s)
	}
}
