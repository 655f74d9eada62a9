package idgen_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
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

// leasedPool returns a leased pool without a tenure.
func leasedPool(t *testing.T, cfg idgen.Config) (*idgen.Pool, *keeper) {
	t.Helper()
	k := &keeper{}
	pool := errtest.Must(idgen.NewLeased(cfg, func(i leased.Issuer) (leased.Keeper, error) {
		k.Issuer = i
		return k, nil
	}))(t)
	closeAtEnd(t, pool)
	return pool, k
}

// counterOf returns the counter of an id of the default layout.
func counterOf(id int64) int64 { return id>>22<<12 | id&4095 }

func TestLeasedPoolIssuesWithinItsTenure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newClock()
		pool, k := leasedPool(t, idgen.Config{Clock: clock.Now})
		now := clock.Now().Sub(epoch).Milliseconds() << 12
		fails := func(when string, want ...error) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err1 := pool.Next(ctx)
			_, err2 := pool.NextN(ctx, 3)
			for _, want := range append(want, context.DeadlineExceeded) {
				if !errors.Is(err1, want) || !errors.Is(err2, want) {
					t.Fatalf("%s: %v and %v; want %v", when, err1, err2, want)
				}
			}
		}

		fails("without a tenure")
		if h := pool.Health(); h.State != idgen.Unleased {
			t.Errorf("without a tenure: %v", h)
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
		reason := errors.New("the store is away")
		k.Explain(reason)
		fails("at the bound", reason)
		if h := pool.Health(); h.State != idgen.Unleased || h.Reason != reason {
			t.Errorf("at the bound: %+v", h)
		}
		if w := k.wanted(); !slices.Equal(slices.Compact(w), []int64{start + 11, start + 13}) {
			t.Errorf("wanted %v; want %d and %d", w, start+11, start+13)
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
		fails("sealed", lost)
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

// A leased pool may run far ahead of its clock, but never up to its bound.
func TestBurstsEndBelowTheBound(t *testing.T) {
	const ticks = 50
	for _, maxAhead := range []time.Duration{20 * time.Millisecond, idgen.NoLimit} {
		t.Run(maxAhead.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // so that the timeout only passes while a call waits
				clock := holdClock(epoch.AddDate(1, 0, 0))
				pool, k := leasedPool(t, idgen.Config{Clock: clock.Now, MaxAhead: maxAhead, MaxWait: -1})
				start := clock.Now().Sub(epoch).Milliseconds() << 12
				bound := start + ticks<<12 + 1001
				k.Grant(1, start, bound)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				id, err := pool.Next(ctx)
				for ; err == nil; id, err = pool.Next(ctx) {
					if c := counterOf(id); c >= bound {
						t.Fatalf("counter %d was issued, and the bound is %d", c, bound)
					}
				}
				if _, late := errors.AsType[*idgen.ClockError](err); !late && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				if lead := pool.Health().Behind; lead < min(maxAhead, ticks*time.Millisecond) {
					t.Errorf("ids are only %v ahead", lead)
				}
			})
		})
	}
}

// Tests that no id is issued after a seal, even while calls, seals and steps of the clock
// race, and that the ids of all tenures are unique.
func TestSealRacesWithIssuing(t *testing.T) {
	clock := newClock()
	pool, k := leasedPool(t, idgen.Config{Clock: clock.Now, MaxAhead: idgen.NoLimit})
	start := clock.Now().Sub(epoch).Milliseconds() << 12
	k.Grant(0, start, start+1<<40)
	stop, done := context.WithCancel(t.Context())
	defer done()
	var wg sync.WaitGroup
	var issued atomic.Int64
	wg.Go(func() {
		for i := 0; stop.Err() == nil; i++ {
			clock.step(time.Duration(i%7-3) * 700 * time.Microsecond)
		}
	})
	all := make([][]int64, 8)
	for i := range all {
		wg.Go(func() {
			for stop.Err() == nil {
				before := len(all[i])
				for range 100 {
					id, err := pool.Next(stop)
					if err != nil {
						return
					}
					all[i] = append(all[i], id)
				}
				var err error
				if all[i], err = pool.Append(stop, all[i], 1+i); err != nil {
					return
				}
				issued.Add(int64(len(all[i]) - before))
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
	for _, ids := range all {
		ascending(t, ids)
	}
	ids := slices.Concat(all...)
	unique(t, ids, len(ids))
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

// TestBlockedCallFails has a call whose context doesn't end. It waits for the store as long
// as that doesn't answer, but not for longer than Limit if the process itself is the cause.
func TestBlockedCallFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, issuer := leasedPool(t, idgen.Config{Clock: func() time.Time { return time.Now().AddDate(30, 0, 0) }})
		failed := make(chan error, 1)
		began := time.Now()
		go func() {
			_, err := pool.Next(context.Background())
			failed <- err
		}()
		for cause, reason := range map[string]error{"": nil, "no_answer": fmt.Errorf("it: %w", context.DeadlineExceeded), "blocked": &leased.BlockedError{Limit: time.Hour}, "other": errors.New("refused")} {
			issuer.Explain(reason)
			if h := pool.Health(); h.Cause != cause || h.Reason != reason {
				t.Errorf("the cause of %v is %q and %v, want %q", reason, h.Cause, h.Reason, cause)
			}
		}
		issuer.Explain(errors.New("refused"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(failed) > 0 {
			t.Fatal("the call did not wait:", <-failed)
		}
		for range 3 { // each attempt of the keeper explains it again
			issuer.Explain(&leased.BlockedError{Cause: "all are in use", Remedy: "wait", Limit: 61 * time.Second})
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(failed) == 0 {
			t.Fatal("the call waits for ever")
		}
		err := <-failed
		if _, ok := errors.AsType[*leased.BlockedError](err); !ok {
			t.Error(err)
		}
		if took := time.Since(began); took < 61*time.Second || took > 63*time.Second {
			t.Errorf("the call took %v", took)
		}
	})
}
