package snowkey_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// What it costs when the host's clock jumps ahead and stays below the bound. Ids
// follow the wrong clock until the next renewal, at most Window/3 later, or until
// the clock is set right. Then the clock is behind the last id by as much as it
// jumped. Calls wait for MaxWait of that, and fail for the rest with a ClockError.
// A jump beyond the bound costs the time until the next correction, and no more.
func TestCostOfAHostClockThatJumpsAhead(t *testing.T) {
	const renewal, maxWait, step = 3400 * time.Millisecond, 500 * time.Millisecond, 10 * time.Millisecond
	for _, tt := range []struct {
		jump, fails time.Duration // how long calls fail at most
		exact       bool          // whether they do so in every phase of a renewal
	}{
		{500 * time.Millisecond, 0, true}, // less than MaxClockSkew is not corrected
		{2 * time.Second, 1500 * time.Millisecond, true},
		{5 * time.Second, 4500 * time.Millisecond, true},
		{9 * time.Second, 8500 * time.Millisecond, false}, // beyond the bound, if the renewal was some time ago
		{time.Hour, renewal, false},
	} {
		for _, phase := range []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second} {
			t.Run(fmt.Sprint(tt.jump, " ", phase), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var off atomic.Int64
					clock := func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
					store := &leasetest.Memory{}
					open(t, store, snowkey.Config{}).Close(t.Context()) // the first ids of a namespace may be ahead
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
					if at := layout(t).Decode(last).Time; time.Since(at).Abs() > max(time.Second, maxWait) {
						t.Errorf("half a minute later an id is of %v, at %v", at, time.Now())
					}
				})
			})
		}
	}
}

// Ids ascend under one lease. Those of the next lease of the same pool may be
// smaller, if the clock was ahead and the worker number is another. They are lower
// by what the bound was ahead of time, at most: Window and twice MaxClockSkew, as
// long as the store's clock is right.
func TestOrderFromOneLeaseToTheNext(t *testing.T) {
	for _, tt := range []struct {
		name               string
		host, store        time.Duration // how far the clocks jump
		same               bool          // whether the pool gets its worker number again
		lowerMin, lowerMax time.Duration
	}{
		{"the same worker number", 8 * time.Second, 0, true, 0, 0},
		{"another worker number", 8 * time.Second, 0, false, 6 * time.Second, 12 * time.Second},
		{"another worker number, and both clocks were wrong", 3 * time.Hour, 3 * time.Hour, false, 3*time.Hour - time.Minute, 3*time.Hour + 12*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var host, stored atomic.Int64
				store := &leasetest.Memory{Clock: func() time.Time { return time.Now().Add(time.Duration(stored.Load())) }}
				cfg := snowkey.Config{MaxWorker: 1, Clock: func() time.Time { return time.Now().Add(time.Duration(host.Load())) }}
				open(t, store, cfg).Close(t.Context())
				time.Sleep(time.Minute)
				pool := open(t, store, cfg)
				worker := workerOf(t, pool)
				// A renewal has just been answered, so that the bound is a window ahead.
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
				if err := pool.Suspend(t.Context()); err != nil {
					t.Fatal(err)
				}
				host.Store(0)
				stored.Store(0)
				if !tt.same {
					// Another process has the worker number meanwhile.
					rows, err := store.Rows(t.Context(), terms(t), worker, worker)
					if err != nil || len(rows) != 1 {
						t.Fatal(rows, err)
					}
					rows[0].Token, rows[0].Expires = "of another", 1<<60
					if err := store.Edit(t.Context(), terms(t), rows[0]); err != nil {
						t.Fatal(err)
					}
				}
				if err := pool.Resume(t.Context()); err != nil {
					t.Fatal(err)
				}
				id, err := pool.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if same := workerOf(t, pool) == worker; same != tt.same {
					t.Fatalf("worker %d after %d", workerOf(t, pool), worker)
				}
				lower := layout(t).Decode(last).Time.Sub(layout(t).Decode(id).Time)
				if tt.same && id <= last || !tt.same && (lower < tt.lowerMin || lower > tt.lowerMax) {
					t.Errorf("id %d after %d is %v lower", id, last, lower)
				}
				t.Logf("%v lower", lower)
			})
		})
	}
}
