package idgen_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/leased"
)

// keeper is a leased.Keeper that a test controls.
type keeper struct {
	leased.Issuer
	mu    sync.Mutex
	wants []int64
}

func (k *keeper) Want(end int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wants = append(k.wants, end)
}

func (k *keeper) Close(context.Context) error {
	k.Seal(nil)
	return nil
}

func (k *keeper) Stats() leased.Stats           { return leased.Stats{} }
func (k *keeper) RenewSoon()                    {}
func (k *keeper) Suspend(context.Context) error { return nil }
func (k *keeper) Resume(context.Context) error  { return nil }

func (k *keeper) wanted() []int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wants
}

var newLeased = leased.NewPool.(func(idgen.Config, func(leased.Issuer) (leased.Keeper, error)) (*idgen.Pool, error))

// leasedPool returns a leased pool without a tenure.
func leasedPool(t *testing.T, cfg idgen.Config) (*idgen.Pool, *keeper) {
	t.Helper()
	k := &keeper{}
	pool, err := newLeased(cfg, func(i leased.Issuer) (leased.Keeper, error) {
		k.Issuer = i
		return k, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return pool, k
}

// counterOf returns the counter of an id of the default layout.
func counterOf(id int64) int64 { return id>>22<<12 | id&4095 }

func TestLeasedPoolIssuesWithinItsTenure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newClock()
		pool, k := leasedPool(t, idgen.Config{Clock: clock.Now})
		now := clock.Now().Sub(epoch).Milliseconds() << 12
		short := func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Second) }

		ctx, cancel := short()
		defer cancel()
		if _, err := pool.Next(ctx); !errors.Is(err, context.DeadlineExceeded) || pool.Health().State != idgen.Unleased {
			t.Fatalf("without a tenure: %v, %v", err, pool.Health())
		}

		const worker = 77
		start := now + 5000<<12 // 5 s ahead, as after a fence
		k.Grant(worker, start, start+10)
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
		// The bounds apply to named generators as well.
		if c := counterOf(mustNext(t, pool.Named("orders"))); c != start {
			t.Errorf("a new sequence begins with %d; want %d", c, start)
		}

		// At the bound, calls must request a higher bound and wait for it.
		ctx, cancel = short()
		defer cancel()
		reason := errors.New("the store is away")
		k.Explain(reason)
		if _, err := pool.Next(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, reason) {
			t.Fatalf("at the bound: %v", err)
		}
		if h := pool.Health(); h.State != idgen.Unleased || h.Reason != reason {
			t.Errorf("at the bound: %+v", h)
		}
		if w := k.wanted(); len(w) == 0 || w[len(w)-1] != start+11 {
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
		k.Extend(start + 11)
		wg.Wait()
		k.Extend(start) // a late reply must not lower the bound
		k.Extend(start + 12)
		if c := counterOf(mustNext(t, pool)); c != start+11 {
			t.Errorf("%d; want %d", c, start+11)
		}

		// After a seal, no id may be issued until the next tenure.
		lost := errors.New("lost")
		if unused := k.Seal(lost); unused != start+12 {
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
		k.Grant(5, start+100, start+1<<30)
		wg.Wait()
		if w, ok := pool.Worker(); w != 5 || !ok {
			t.Errorf("worker %d, %t", w, ok)
		}
	})
}

// drawSome takes some ids with Append or from an Unordered.
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

// Tests that no id is issued after a seal, even while calls and seals race, and that
// the ids of all tenures are unique.
func TestSealRacesWithIssuing(t *testing.T) {
	pool, k := leasedPool(t, idgen.Config{MaxAhead: idgen.NoLimit})
	start := time.Since(epoch).Milliseconds() << 12
	k.Grant(0, start, start+1<<40)
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
		unused := k.Seal(nil)
		// The next holder of the worker number would start here.
		k.Grant(0, unused, unused+1<<40)
	}
	done()
	wg.Wait()
	seen := map[int64]bool{}
	for _, ids := range all {
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("id %d repeats", id)
			}
			seen[id] = true
		}
	}
}

func TestNewLeasedRefuses(t *testing.T) {
	open := func(leased.Issuer) (leased.Keeper, error) { return nil, errors.New("no lease") }
	for _, tt := range []struct {
		name string
		cfg  idgen.Config
		want string
	}{
		{"names", idgen.Config{MaxNames: -1}, "Config.MaxNames"},
		{"clock", idgen.Config{Layout: idgen.Baidu()}, "lifetime"},
		{"keeper", idgen.Config{}, "no lease"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := newLeased(tt.cfg, open); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v; want %q", err, tt.want)
			}
		})
	}
}

// The host's clock jumps during a lease. A correction should give ids the right time at
// once. The same goes for the next correction, when the host's clock is right again.
func TestCorrect(t *testing.T) {
	for _, tt := range []struct {
		name  string
		jump  time.Duration
		state idgen.State // until the correction
	}{
		{"forward", time.Hour, idgen.Unleased},
		{"back", -time.Hour, idgen.Down},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				right, host := newClock(), newClock()
				pool, k := leasedPool(t, idgen.Config{Clock: host.Now})
				counter := func(ahead time.Duration) int64 { return right.Now().Add(ahead).Sub(epoch).Milliseconds() << 12 }
				k.Grant(3, counter(0), counter(12*time.Second))

				var ids []int64
				draw := func() {
					t.Helper()
					start := time.Now()
					for range 100 {
						id := mustNext(t, pool)
						if at := pool.Layout().Decode(id).Time; at.Sub(right.Now()).Abs() > 12*time.Millisecond {
							t.Fatalf("an id of %v at %v", at, right.Now())
						}
						ids = append(ids, id)
					}
					if waited := time.Since(start); waited > 0 {
						t.Errorf("100 ids took %v", waited)
					}
					time.Sleep(time.Second)
				}
				stuck := func(state idgen.State) {
					t.Helper()
					if got := pool.Health().State; got != state {
						t.Errorf("health %v; want %v", got, state)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					defer cancel()
					_, err := pool.Next(ctx)
					if _, late := errors.AsType[*idgen.ClockError](err); !late && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("with a wrong clock: %v", err)
					}
				}

				draw()
				host.step(tt.jump)
				stuck(tt.state)
				k.Correct(-tt.jump)
				draw()
				host.step(-tt.jump) // the clock is set right
				stuck(idgen.Unleased + idgen.Down - tt.state)
				k.Correct(0)
				draw()
				ascending(t, ids)
			})
		})
	}
}

// Tests that a correction wakes the calls that are waiting.
func TestCorrectWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newClock()
		pool, k := leasedPool(t, idgen.Config{Clock: clock.Now, MaxAhead: -1})
		now := func() int64 { return clock.Now().Sub(epoch).Milliseconds() << 12 }
		k.Grant(3, now(), now()+12000<<12)
		mustNext(t, pool)
		reason := errors.New("the store is away")
		k.Explain(reason)

		wake := func(jump, within time.Duration) {
			t.Helper()
			clock.step(jump)
			start := time.Now()
			var wg sync.WaitGroup
			wg.Go(func() {
				// More ids than a tick has, so that the call has to wait with any spread.
				if _, err := pool.NextN(t.Context(), 4096); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(50 * time.Millisecond)
			k.Correct(-jump)
			wg.Wait()
			if waited := time.Since(start); waited < 50*time.Millisecond || waited > within {
				t.Errorf("after a jump by %v, corrected after 50ms, a call waited %v", jump, waited)
			}
			clock.step(-jump)
			k.Correct(0)
			time.Sleep(10 * time.Millisecond)
		}
		wake(time.Hour, 50*time.Millisecond)              // waited for the lease
		wake(-400*time.Millisecond, 100*time.Millisecond) // waited for the clock

		if h := pool.Health(); h.State != idgen.Serving {
			t.Errorf("health %+v", h)
		}
		clock.step(time.Hour)
		if h := pool.Health(); h.Reason != reason {
			t.Errorf("a correction replaced the reason %v by %v", reason, h.Reason)
		}
	})
}

// If a store grants counters that the layout does not have, no id is issued. With its
// upper bits cut off, such a start would look like an old one.
func TestGrantsBeyondTheLayout(t *testing.T) {
	layout := idgen.DefaultLayout()
	const counters = 1 << (41 + 12)
	for _, start := range []int64{counters - 1, counters, counters + 5, 1<<62 + 1, math.MaxInt64} {
		pool, k := leasedPool(t, idgen.Config{Layout: layout})
		k.Grant(3, start, math.MaxInt64)
		for range 2 {
			if id, err := pool.Next(t.Context()); !errors.Is(err, idgen.ErrLayoutExhausted) {
				t.Errorf("with the start %d, Next returns %d and %v", start, id, err)
			}
		}
		if h := pool.Health(); h.State != idgen.Exhausted {
			t.Errorf("with the start %d, the pool is %v", start, h.State)
		}
		if unused := k.Seal(nil); unused < start {
			t.Errorf("with the start %d, the first unused number is %d", start, unused)
		}
	}
}
