package idgen_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// The host's clock jumps while the lease is held. Once corrected, ids go on with
// the right time at once, and so they do when the host's clock is right again.
func TestCorrectedPoolGoesOn(t *testing.T) {
	for _, tt := range []struct {
		name  string
		jump  time.Duration
		state idgen.State // until corrected
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
				host.step(-tt.jump) // somebody sets it right
				stuck(idgen.Unleased + idgen.Down - tt.state)
				k.Correct(0)
				draw()
				ascending(t, ids)
			})
		})
	}
}

// Calls that were already waiting see the correction.
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
				// More than one tick has, so that the spread cannot save the wait.
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
