package idgen_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

func TestWaitsForTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newClock()
		pool := newPool(t, idgen.Config{Clock: clock.Now, MaxAhead: -1})
		before := mustNext(t, pool)
		for _, back := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 499 * time.Millisecond} {
			clock.step(-back)
			start := time.Now()
			// More ids than a tick has, so that the call has to wait with any spread.
			ids := errtest.Must(pool.NextN(t.Context(), 4096))(t)
			waited := time.Since(start)
			if waited < back-time.Millisecond || waited > back+2*time.Millisecond {
				t.Errorf("set back by %v, a call waited %v", back, waited)
			}
			if ids[0] <= before {
				t.Errorf("id %d after %d", ids[0], before)
			}
			time.Sleep(10 * time.Millisecond)
			before = mustNext(t, pool)
		}
	})
}

// A call that would have to wait for longer than MaxWait fails at once, and its error says
// for how long. Beyond MaxBehind, the generator is down, and logs that once.
func TestFailsIfTheClockIsFarBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		clock := newClock()
		pool := newPool(t, idgen.Config{Clock: clock.Now, MaxAhead: -1, MaxWait: 500 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		down := 0
		for _, tt := range []struct {
			back time.Duration
			want idgen.State
		}{
			{600 * time.Millisecond, idgen.Failing}, {2 * time.Second, idgen.Failing}, {5 * time.Second, idgen.Failing},
			{61 * time.Second, idgen.Down}, {62 * time.Second, idgen.Down},
		} {
			before := mustNext(t, pool)
			clock.step(-tt.back)
			start := time.Now()
			if tt.want == idgen.Down {
				down++
			}
			var ce *idgen.ClockError
			for range 3 {
				_, err := pool.Next(t.Context())
				if !errors.As(err, &ce) || !strings.Contains(err.Error(), ce.RetryAfter.String()) {
					t.Fatalf("set back by %v: error %v; want a ClockError that says for how long", tt.back, err)
				}
			}
			if off := (ce.Behind - tt.back).Abs(); off > time.Millisecond || ce.RetryAfter != ce.Behind || time.Since(start) != 0 {
				t.Errorf("set back by %v: the error says %v, retry after %v, and took %v", tt.back, ce.Behind, ce.RetryAfter, time.Since(start))
			}
			if h := pool.Health(); h.State != tt.want || h.Behind != ce.Behind {
				t.Errorf("set back by %v: health is %+v", tt.back, h)
			}
			if n := strings.Count(log.String(), "down until the clock has caught up"); n != down {
				t.Errorf("set back by %v: %d log lines; want %d", tt.back, n, down)
			}
			time.Sleep(ce.RetryAfter)
			if id := mustNext(t, pool); id <= before || time.Since(start) != ce.RetryAfter {
				t.Errorf("after RetryAfter: id %d after %d, in %v", id, before, time.Since(start)-ce.RetryAfter)
			}
			if h := pool.Health(); h.State != idgen.Serving || h.Behind > time.Millisecond {
				t.Errorf("after RetryAfter: health is %+v", h)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestWaitEndsWithContextAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newClock()
		pool := newPool(t, idgen.Config{Clock: clock.Now, MaxWait: idgen.NoLimit})
		before := mustNext(t, pool)
		clock.step(-time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		if _, err := pool.Next(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if s := pool.Health().State; s != idgen.Down && s != idgen.Waiting {
			t.Errorf("health %v", s)
		}
		// Calls with an ended context don't take a number. If they did, this many of
		// them would move the generator far ahead of the clock.
		start = time.Now()
		for range 100_000 {
			if _, err := pool.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		if h := pool.Health(); h.Behind > time.Hour {
			t.Errorf("behind by %v", h.Behind)
		}
		id := mustNext(t, pool)
		if waited := time.Since(start); waited > time.Hour || waited < time.Hour-5*time.Second {
			t.Errorf("waited %v", waited)
		}
		if id <= before {
			t.Errorf("id %d after %d", id, before)
		}

		clock.step(-time.Minute)
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				if id, err := pool.Next(t.Context()); !errors.Is(err, idgen.ErrClosed) {
					t.Errorf("id %d, %v from a closed pool", id, err)
				}
			})
		}
		synctest.Wait()
		errtest.NoError(t, pool.Close(t.Context()))
		wg.Wait()
	})
}

// Since each call waits for its own number, a call with a long wait, or one that gives
// up, must not delay the others.
func TestWaitersDoNotBlockEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newClock()
		// We need NoSpread, because the other sequence might begin at the end of its
		// tick otherwise.
		pool := newPool(t, idgen.Config{Clock: clock.Now, MaxAhead: -1, MaxWait: time.Minute, NoSpread: true})
		mustNext(t, pool)
		clock.step(-100 * time.Millisecond)
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { // takes the first number, but gives up
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if _, err := pool.NextN(ctx, 4096); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Millisecond {
				t.Errorf("the first gave up after %v: %v", time.Since(start), err)
			}
		})
		synctest.Wait()
		wg.Go(func() { // a long wait, since this takes the ids of 4 s
			errtest.Must(pool.NextN(t.Context(), 4096*4000))(t)
		})
		for range 20 {
			wg.Go(func() {
				id, err := pool.Named("other").Next(t.Context())
				if err != nil || time.Since(start) != 0 {
					t.Errorf("another sequence waited %v: %d, %v", time.Since(start), id, err)
				}
			})
		}
		synctest.Wait()
		ids := make([]int64, 50)
		for i := range ids {
			wg.Go(func() { ids[i] = mustNext(t, pool) })
		}
		wg.Wait()
		unique(t, ids, len(ids))
	})
}

func TestFrozenClockDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := holdClock(epoch.AddDate(1, 0, 0).Add(-1)) // 1 ns before the next tick
		readings := 0
		pool := newPool(t, idgen.Config{Clock: func() time.Time { readings++; return clock.Now() }, MaxAhead: -1, NoSpread: true})
		errtest.Must(pool.NextN(t.Context(), 4095))(t)
		mustNext(t, pool)
		before := readings
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := pool.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if n := readings - before; n < 2 || n > 10_010 {
			t.Errorf("the clock was read %d times in a second", n)
		}
	})
}

// A generator at its maximum rate wakes a call after the time in which it can make 2,000
// ids, or after three quarters of MaxAhead, so that waking costs less than the ids. No
// call returns before its id may be issued.
func TestWaitAtTheMaximumRate(t *testing.T) {
	for _, goroutines := range []int{1, 2, 64} {
		t.Run(fmt.Sprint(goroutines), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const (
					ahead, n  = 10 * time.Millisecond, 16
					oversleep = ahead / 4 * 3
					late      = oversleep + 100*time.Microsecond + time.Millisecond // a sleep takes 100 µs at least
				)
				clock := newClock()
				layout := errtest.Must(idgen.NewLayout(epoch, time.Millisecond, idgen.Time(41), idgen.Sequence(8)))(t)
				pool := newPool(t, idgen.Config{Layout: layout, Clock: clock.Now, MaxAhead: ahead})
				end := time.Now().Add(time.Second)
				var wg sync.WaitGroup
				var reached, waits atomic.Int64
				for range goroutines {
					wg.Go(func() {
						for time.Now().Before(end) {
							full := reached.Load() > 0 // before this call takes its numbers
							start := time.Now()
							ids, err := pool.NextN(t.Context(), n)
							if err != nil {
								t.Error(err)
								return
							}
							if time.Since(start) > 0 {
								waits.Add(1)
							}
							switch early := layout.Decode(ids[n-1]).Time.Sub(clock.Now()) - ahead; {
							case early > 0:
								t.Errorf("a call returned %v too early", early)
							case early > -time.Millisecond:
								reached.Add(1)
							case full && -early > late:
								t.Errorf("a call returned %v too late", -early)
							}
						}
					})
				}
				wg.Wait()
				if most := int64(goroutines) * int64(time.Second/oversleep+1); reached.Load() == 0 || waits.Load() > most {
					t.Errorf("%d calls reached the limit, and %d waited; at most %d should", reached.Load(), waits.Load(), most)
				}
			})
		})
	}
}
