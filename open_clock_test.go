package snowkey_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
)

// The host's clock jumps ahead but stays below the bound. Ids then follow the wrong
// clock until the next renewal, at most Window/3 later, or until the clock is right
// again. At that point the clock is behind the last id by the length of the jump, so
// calls fail with a ClockError until this difference is down to MaxAhead and MaxWait.
// After a jump beyond the bound, however, calls fail only until the next correction.
func TestHostClockJumpsAhead(t *testing.T) {
	const renewal, step = 3400 * time.Millisecond, 10 * time.Millisecond
	for _, tt := range []struct {
		jump, fails time.Duration // for how long calls may fail
		exact       bool          // whether they fail for that long in every phase of a renewal
	}{
		{500 * time.Millisecond, 0, true}, // not corrected, because it is less than MaxClockSkew
		{2 * time.Second, 500 * time.Millisecond, true},
		{5 * time.Second, 3500 * time.Millisecond, true},
		{9 * time.Second, 7500 * time.Millisecond, false}, // beyond the bound, unless the lease was just renewed
		{time.Hour, renewal, false},
	} {
		for _, phase := range []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second} {
			t.Run(fmt.Sprint(tt.jump, " ", phase), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var off atomic.Int64
					clock := func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
					store := &kvtest.Memory{}
					open(t, store, snowkey.Config{}).Close(t.Context()) // create the namespace now, since its first ids may be ahead
					time.Sleep(time.Minute)
					pool := open(t, store, snowkey.Config{Clock: clock})
					time.Sleep(time.Minute + phase)
					last := mustNext(t, pool)
					off.Store(int64(tt.jump))
					jumped := time.Now()
					failed, over := time.Duration(0), time.Duration(0)
					for time.Since(jumped) < 30*time.Second {
						began := time.Now()
						id, err := next(t, pool)
						if _, ok := errors.AsType[*idgen.ClockError](err); err != nil && !ok && tt.jump < 10*time.Second {
							t.Errorf("got %v", err)
						}
						if err != nil {
							failed += time.Since(began) + step
							over = time.Since(jumped)
						} else if id <= last {
							t.Fatalf("id %d after %d", id, last)
						} else {
							last = id
						}
						time.Sleep(step)
					}
					if failed > tt.fails+2*step || tt.exact && failed < tt.fails-2*step {
						t.Errorf("calls failed for %v; want %v", failed, tt.fails)
					}
					if limit := renewal + min(tt.jump, 10*time.Second); over > limit {
						t.Errorf("the last failure was %v after the jump; want %v at most", over, limit)
					}
					if at := layout(t).Decode(last).Time; time.Since(at).Abs() > time.Second {
						t.Errorf("half a minute later an id is of %v, at %v", at, time.Now())
					}
				})
			})
		}
	}
}

// Ids ascend within a lease. In the next lease of a pool, however, ids may be smaller
// if the clock was ahead and the pool got another worker number. The difference is
// limited by the distance from the clock to the bound. As long as the store's clock is
// right, this is Window plus 2 times MaxClockSkew.
func TestOrderFromOneLeaseToTheNext(t *testing.T) {
	for _, tt := range []struct {
		name               string
		host, store        time.Duration // how far the clocks jump
		same               bool          // whether the pool gets the same worker number again
		lowerMin, lowerMax time.Duration
	}{
		{"the same worker number", 8 * time.Second, 0, true, 0, 0},
		{"another worker number", 8 * time.Second, 0, false, 6 * time.Second, 12 * time.Second},
		{"another worker number, and both clocks were wrong", 3 * time.Hour, 3 * time.Hour, false, 3*time.Hour - time.Minute, 3*time.Hour + 12*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var host, stored atomic.Int64
				store := &kvtest.Memory{Clock: func() time.Time { return time.Now().Add(time.Duration(stored.Load())) }}
				cfg := snowkey.Config{MaxWorker: 1, Clock: func() time.Time { return time.Now().Add(time.Duration(host.Load())) }}
				open(t, store, cfg).Close(t.Context())
				time.Sleep(time.Minute)
				pool := open(t, store, cfg)
				worker := workerOf(t, pool)
				// Right after a renewal, the bound is a window ahead.
				for renewals := store.Calls("Renew"); store.Calls("Renew") == renewals; {
					time.Sleep(10 * time.Millisecond)
				}
				host.Store(int64(tt.host))
				stored.Store(int64(tt.store))
				time.Sleep(time.Second)
				if tt.store > 0 {
					time.Sleep(time.Minute)
				}
				last := mustNext(t, pool)
				for range 100 {
					id := mustNext(t, pool)
					if id <= last {
						t.Fatalf("under one lease, id %d after %d", id, last)
					}
					last = id
				}
				errtest.NoError(t, pool.Suspend(t.Context()))
				host.Store(0)
				stored.Store(0)
				if !tt.same {
					// Make it look as if another process had the worker number.
					rows := errtest.Must(store.Rows(t.Context(), terms(t), worker, worker))(t)
					rows[0].Token, rows[0].Expires = "of another", 1<<60
					errtest.NoError(t, store.Edit(t.Context(), terms(t), rows[0]))
				}
				errtest.NoError(t, pool.Resume(t.Context()))
				id := errtest.Must(pool.Next(t.Context()))(t)
				if same := workerOf(t, pool) == worker; same != tt.same {
					t.Fatalf("worker %d after %d", workerOf(t, pool), worker)
				}
				lower := layout(t).Decode(last).Time.Sub(layout(t).Decode(id).Time)
				if tt.same && id <= last || !tt.same && (lower < tt.lowerMin || lower > tt.lowerMax) {
					t.Errorf("id %d after %d is %v lower", id, last, lower)
				}
			})
		})
	}
}

// The host's clock jumps during a lease. The next renewal finds out that it is wrong,
// and from then on ids continue with the store's time.
func TestHostClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var off atomic.Int64
				clock := func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
				pool := open(t, &kvtest.Memory{}, snowkey.Config{Clock: clock})
				last := mustNext(t, pool)
				before := time.Duration(0)
				for _, jump := range []time.Duration{jump, 0, jump, -jump, 0} {
					time.Sleep(time.Minute)
					off.Store(int64(jump))
					jumped := time.Now()
					id, err := next(t, pool)
					for err != nil && time.Since(jumped) < 5*time.Second {
						time.Sleep(10 * time.Millisecond)
						id, err = next(t, pool)
					}
					if d := time.Since(jumped); before > 0 && jump < before && d > 200*time.Millisecond {
						t.Errorf("the clock went back from %v to %v, and calls failed for %v", before, jump, d)
					}
					before = jump
					if err != nil || id <= last {
						t.Fatalf("after a jump to %v: %d after %d, %v", jump, id, last, err)
					}
					for range 10 {
						time.Sleep(time.Second)
						if last = mustNext(t, pool); time.Since(layout(t).Decode(last).Time).Abs() > 10*time.Second {
							t.Errorf("after a jump to %v an id is of %v, at %v", jump, layout(t).Decode(last).Time, time.Now())
						}
					}
				}
			})
		})
	}
}

// When the store's clock jumps, ids continue with the host's time. If the store's clock
// went back, they continue up to the bound, whereas if it went forward, they continue
// in another lease, which starts at the bound. While calls wait for the bound, the
// keeper should not keep repeating requests that the store can't grant yet.
func TestStoreClockJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var off atomic.Int64
		store := &kvtest.Memory{Clock: func() time.Time { return time.Now().Add(time.Duration(off.Load())) }}
		pool := open(t, store, snowkey.Config{})
		steady := func(d time.Duration) {
			t.Helper()
			for began := time.Now(); time.Since(began) < d; time.Sleep(time.Second) {
				if id := mustNext(t, pool); time.Since(layout(t).Decode(id).Time).Abs() > 12*time.Second {
					t.Fatalf("an id is of %v, at %v", layout(t).Decode(id).Time, time.Now())
				}
			}
		}
		time.Sleep(time.Minute) // the first ids of a namespace are ahead
		steady(time.Minute)
		off.Store(int64(-time.Hour))
		steady(5 * time.Second) // works for a while, since the bound is ahead of time by Window
		before := store.Calls("Renew")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for ctx.Err() == nil {
					pool.Next(ctx)
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		if h := pool.Health(); h.State != idgen.Unleased {
			t.Errorf("health %+v", h)
		}
		if n := store.Calls("Renew") - before; n < 10 || n > 25 {
			t.Errorf("%d renewals in a minute", n)
		}
		off.Store(0)
		time.Sleep(5 * time.Second)
		steady(time.Minute)
		off.Store(int64(time.Hour))
		steady(time.Minute)
		off.Store(0)
		steady(time.Minute)
		// Make sure that the bounds didn't follow the wrong clock of the store.
		tick := time.Since(layout(t).Epoch()).Milliseconds()
		for _, r := range errtest.Must(store.Rows(t.Context(), terms(t), 0, 15))(t) {
			if ahead := time.Duration(r.Bound>>12-tick) * time.Millisecond; ahead > 15*time.Second {
				t.Errorf("the bound of worker %d is %v ahead", r.Worker, ahead)
			}
		}
	})
}
