package idgen_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// lessor grants what a test tells it to.
type lessor struct {
	*idgen.Issuer
	mu    sync.Mutex
	wants []int64
}

func (l *lessor) Want(end int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wants = append(l.wants, end)
}

func (l *lessor) Close(context.Context) error {
	l.Seal(nil)
	return nil
}

func (l *lessor) wanted() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wants
}

// lease returns a leased pool without a tenure.
func leased(t *testing.T, cfg idgen.Config) (*idgen.Pool, *lessor) {
	t.Helper()
	l := &lessor{}
	pool, err := idgen.NewLeased(cfg, func(i *idgen.Issuer) (idgen.Lessor, error) {
		l.Issuer = i
		return l, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return pool, l
}

// counterOf returns tick and sequence of an id of the default layout, packed.
func counterOf(id int64) int64 { return id>>22<<12 | id&4095 }

func TestLeasedPoolIssuesWithinItsTenure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newClock()
		pool, l := leased(t, idgen.Config{Clock: clock.Now})
		now := clock.Now().Sub(epoch).Milliseconds() << 12
		short := func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Second) }

		ctx, cancel := short()
		defer cancel()
		if _, err := pool.Next(ctx); !errors.Is(err, context.DeadlineExceeded) || pool.Health().State != idgen.Unleased {
			t.Fatalf("without a tenure: %v, %v", err, pool.Health())
		}

		const worker = 77
		start := now + 5000<<12 // some seconds ahead, as after a fence
		l.Grant(worker, start, start+10)
		var ids []int64
		for range 10 {
			ids = append(ids, mustNext(t, pool))
		}
		ascending(t, ids)
		for _, id := range ids {
			if c := counterOf(id); c < start || c >= start+10 || pool.Layout().Decode(id).Worker != worker {
				t.Fatalf("counter %d of worker %d; granted are %d to %d of %d", c, pool.Layout().Decode(id).Worker, start, start+10, worker)
			}
		}
		// Named generators have the same bounds.
		if c := counterOf(mustNext(t, pool.Named("orders"))); c != start {
			t.Errorf("a new sequence begins with %d; want %d", c, start)
		}

		// At the bound, calls ask for more and wait for it.
		ctx, cancel = short()
		defer cancel()
		reason := errors.New("the store is away")
		l.Explain(reason)
		if _, err := pool.Next(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, reason) {
			t.Fatalf("at the bound: %v", err)
		}
		if h := pool.Health(); h.State != idgen.Unleased || h.Reason != reason {
			t.Errorf("at the bound: %+v", h)
		}
		if w := l.wanted(); len(w) == 0 || w[len(w)-1] != start+11 {
			t.Errorf("wanted %v; want %d", w, start+11)
		}
		if _, err := pool.NextN(ctx, 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("bulk at the bound: %v", err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if c := counterOf(mustNext(t, pool)); c != start+10 {
				t.Errorf("after the extension: %d; want %d", c, start+10)
			}
		})
		synctest.Wait()
		l.Extend(start + 11)
		wg.Wait()
		l.Extend(start) // a late reply lowers nothing
		l.Extend(start + 12)
		if c := counterOf(mustNext(t, pool)); c != start+11 {
			t.Errorf("%d; want %d", c, start+11)
		}

		// Sealed, nothing is issued, until the next tenure.
		lost := errors.New("lost")
		if unused := l.Seal(lost); unused != start+12 {
			t.Errorf("unused is %d; want %d", unused, start+12)
		}
		ctx, cancel = short()
		defer cancel()
		if _, err := pool.Next(ctx); !errors.Is(err, lost) {
			t.Errorf("sealed: %v", err)
		}
		wg.Go(func() {
			id := mustNext(t, pool)
			if w := pool.Layout().Decode(id).Worker; w != 5 || counterOf(id) < start+100 {
				t.Errorf("the next tenure gave worker %d, counter %d", w, counterOf(id))
			}
		})
		synctest.Wait()
		l.Grant(5, start+100, start+1<<30)
		wg.Wait()
		if pool.Worker() != 5 {
			t.Errorf("worker %d", pool.Worker())
		}
	})
}

// drawSome draws some ids, in one of two ways.
func drawSome(ctx context.Context, pool *idgen.Pool, i int) (ids []int64, err error) {
	if i%2 == 0 {
		return pool.Append(ctx, nil, 1+i)
	}
	for range 100 {
		id, err := pool.Unordered().Next(ctx)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// No id is issued after a seal, and none twice across tenures, whatever races.
func TestSealRacesWithIssuing(t *testing.T) {
	pool, l := leased(t, idgen.Config{MaxAhead: idgen.NoLimit})
	start := time.Since(epoch).Milliseconds() << 12
	l.Grant(0, start, start+1<<40)
	stop, done := context.WithCancel(t.Context())
	defer done()
	var wg sync.WaitGroup
	var issued atomic.Int64
	all := make([][]int64, 8)
	for i := range all {
		wg.Go(func() {
			for stop.Err() == nil {
				ids, err := drawSome(stop, pool, i)
				if err != nil {
					return
				}
				all[i] = append(all[i], ids...)
				issued.Add(int64(len(ids)))
				runtime.Gosched()
			}
		})
	}
	for range 100 {
		for until := issued.Load() + 100; issued.Load() < until; {
			runtime.Gosched()
		}
		unused := l.Seal(nil)
		// The next holder of the very same worker goes on from here.
		l.Grant(0, unused, unused+1<<40)
	}
	done()
	wg.Wait()
	seen := map[int64]bool{}
	for _, ids := range all {
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("id %d twice", id)
			}
			seen[id] = true
		}
	}
}

func TestNewLeasedRefuses(t *testing.T) {
	open := func(*idgen.Issuer) (idgen.Lessor, error) { return nil, errors.New("no lease") }
	for _, tt := range []struct {
		cfg  idgen.Config
		want string
	}{
		{idgen.Config{Worker: func(int) (int64, error) { return 1, nil }}, "Config.Worker"},
		{idgen.Config{Rotate: true, Layout: idgen.DatacenterProcess()}, "Config.Rotate"},
		{idgen.Config{Layout: idgen.Baidu()}, "lifetime"},
		{idgen.Config{}, "no lease"},
	} {
		if _, err := idgen.NewLeased(tt.cfg, open); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v; want %q", err, tt.want)
		}
	}
}
