package idgen_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/raced"
)

// ascending fails the test unless each id is larger than the one before, which means
// that ids are in order and also unique.
func ascending(t testing.TB, ids []int64) {
	t.Helper()
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			t.Fatalf("id %d is %d, after %d", i, ids[i], ids[i-1])
		}
	}
}

// With NoLimit, a generator continues from its last id after any jump of the clock, and
// it should do so without a wait or a duplicate.
func TestContinuesAfterClockJumps(t *testing.T) {
	raced.Skip(t)
	r := rand.New(rand.NewPCG(3, 4))
	for name, layout := range presets(t) {
		if name == "Baidu" || name == "Raindrop" {
			layout = must(layout.WithEpoch(epoch))(t)
		}
		t.Run(name, func(t *testing.T) {
			clock := holdClock(layout.Epoch().Add(400 * 24 * time.Hour))
			pool := newPool(t, idgen.Config{Layout: layout, Clock: clock.Now, MaxAhead: idgen.NoLimit})
			var ids []int64
			for range 3000 {
				switch r.IntN(10) {
				case 0:
					clock.step(time.Duration(r.Int64N(int64(40*24*time.Hour))) - 20*24*time.Hour)
				case 1, 2:
					clock.step(time.Duration(r.Int64N(int64(3*layout.Unit()))) - layout.Unit())
				case 3:
					more := must(pool.NextN(t.Context(), 1+r.IntN(5000)))(t)
					ids = append(ids, more...)
				}
				ids = append(ids, mustNext(t, pool))
			}
			ascending(t, ids)
			worker, _ := pool.Worker()
			for _, id := range ids[:100] {
				if got := layout.Decode(id).Worker; got != worker {
					t.Fatalf("id %d is of worker %d; want %d", id, got, worker)
				}
			}
		})
	}
}

// FuzzClock runs a script in which each byte either steps the clock or takes ids.
func FuzzClock(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 100, 255, 0, 128, 64})
	f.Add(bytes.Repeat([]byte{9, 255, 129}, 30))
	f.Fuzz(func(t *testing.T, script []byte) {
		raced.Skip(t)
		layout := idgen.DatacenterProcess()
		clock := holdClock(epoch)
		pool := newPool(t, idgen.Config{
			Layout: layout, Clock: clock.Now, MaxAhead: 3 * time.Millisecond, MaxWait: -1, Rotate: true,
			Worker: func(int) (int64, error) { return 31, nil },
		})
		seen := map[int64]bool{}
		last := map[int64]int64{} // ids ascend per rollback number
		for i, b := range script {
			switch {
			case b < 64:
				clock.step(time.Duration(b) * 300 * time.Microsecond)
			case b < 96:
				clock.step(-time.Duration(b) * time.Millisecond)
			default:
				ids, err := pool.NextN(t.Context(), int(b)*int(b)%9000)
				if err != nil {
					ce, isClock := errors.AsType[*idgen.ClockError](err)
					if !isClock || ce.Behind <= 0 || ce.RetryAfter <= 0 {
						t.Fatal(err)
					}
					continue
				}
				for _, id := range ids {
					p := layout.Decode(id)
					if seen[id] || id <= last[p.Rollback] {
						t.Fatalf("step %d: id %d (%+v) repeats or descends", i, id, p)
					}
					if lead := p.Time.Sub(clock.Now()); lead > 3*time.Millisecond {
						t.Fatalf("step %d: id %d is %v ahead of the clock", i, id, lead)
					}
					seen[id], last[p.Rollback] = true, id
				}
			}
		}
	})
}

func TestConcurrentIDsAreUnique(t *testing.T) {
	clock := newClock()
	pool := newPool(t, idgen.Config{Clock: clock.Now, MaxAhead: idgen.NoLimit})
	stop := make(chan struct{})
	var steps sync.WaitGroup
	steps.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				clock.step(time.Duration(i%7-3) * 700 * time.Microsecond)
			}
		}
	})
	const goroutines, calls = 8, 3000
	all := make([][]int64, goroutines)
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for j := range calls {
				if j%10 == 0 {
					ids, err := pool.Append(t.Context(), nil, 17)
					if err != nil {
						t.Error(err)
					}
					all[i] = append(all[i], ids...)
				}
				id, err := pool.Next(t.Context())
				if err != nil {
					t.Error(err)
				}
				all[i] = append(all[i], id)
			}
		})
	}
	wg.Wait()
	close(stop)
	steps.Wait()
	seen := map[int64]bool{}
	for _, ids := range all {
		ascending(t, ids)
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("id %d was handed out twice", id)
			}
			seen[id] = true
		}
	}
	if want := goroutines * (calls + calls/10*17); len(seen) != want {
		t.Fatalf("%d ids; want %d", len(seen), want)
	}
}

func TestWaitsForTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newClock()
		pool := newPool(t, idgen.Config{Clock: clock.Now, MaxAhead: -1})
		before := mustNext(t, pool)
		for _, back := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 499 * time.Millisecond} {
			clock.step(-back)
			start := time.Now()
			// More ids than a tick has, so that the call has to wait with any spread.
			ids := must(pool.NextN(t.Context(), 4096))(t)
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

func TestClockErrorHasTheDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newClock()
		pool := newPool(t, idgen.Config{Clock: clock.Now, MaxAhead: -1, MaxWait: 500 * time.Millisecond})
		for _, back := range []time.Duration{600 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
			before := mustNext(t, pool)
			clock.step(-back)
			start := time.Now()
			_, err := pool.Next(t.Context())
			ce, ok := errors.AsType[*idgen.ClockError](err)
			if !ok {
				t.Fatalf("set back by %v: error %v; want a ClockError", back, err)
			}
			if time.Since(start) != 0 {
				t.Errorf("set back by %v: the error took %v", back, time.Since(start))
			}
			if off := (ce.Behind - back).Abs(); off > time.Millisecond || ce.RetryAfter != ce.Behind {
				t.Errorf("set back by %v: the error says %v, retry after %v", back, ce.Behind, ce.RetryAfter)
			}
			if !strings.Contains(err.Error(), ce.RetryAfter.String()) {
				t.Errorf("%q does not say how long", err)
			}
			if s := pool.Health().State; s != idgen.Failing {
				t.Errorf("set back by %v: health is %v", back, s)
			}
			time.Sleep(ce.RetryAfter)
			if id := mustNext(t, pool); id <= before {
				t.Errorf("after RetryAfter: id %d after %d", id, before)
			}
			if time.Since(start) != ce.RetryAfter {
				t.Error("after RetryAfter a call still waited")
			}
			if s := pool.Health().State; s != idgen.Serving {
				t.Errorf("after RetryAfter: health is %v", s)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestRotates(t *testing.T) {
	oneBit := must(idgen.NewLayout(epoch, time.Millisecond, idgen.Time(41), idgen.Worker(9), idgen.Rollback(1), idgen.Sequence(12)))(t)
	for _, tt := range []struct {
		name      string
		layout    idgen.Layout
		rollbacks int64
	}{{"2 bits", idgen.DatacenterProcess(), 3}, {"1 bit", oneBit, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			start := epoch.AddDate(1, 0, 0)
			clock := holdClock(start)
			pool := newPool(t, idgen.Config{Layout: tt.layout, Clock: clock.Now, Rotate: true})
			seen := map[int64]bool{}
			for rollback := range tt.rollbacks + 1 {
				clock.set(start) // the same time in each round
				for range 100 {
					id := mustNext(t, pool)
					if seen[id] {
						t.Fatalf("rollback %d: id %d again", rollback, id)
					}
					seen[id] = true
					p := tt.layout.Decode(id)
					if p.Rollback != rollback || p.Time.Sub(start).Abs() > time.Millisecond {
						t.Fatalf("rollback %d: %+v", rollback, p)
					}
				}
				clock.step(time.Hour)
				mustNext(t, pool)
			}
			clock.set(start)
			_, err := pool.Next(t.Context())
			ce, ok := errors.AsType[*idgen.ClockError](err)
			if !ok || int64(ce.Rollbacks) != tt.rollbacks {
				t.Fatalf("after %d rollbacks: error %v", tt.rollbacks, err)
			}
			clock.step(2 * time.Hour)
			mustNext(t, pool) // the clock has caught up by now
		})
	}
}

// After a burst the clock is behind, just as if it had been set back. In this case,
// however, the generator must not use up a rollback number, because the clock will
// catch up.
func TestBurstsDoNotRotate(t *testing.T) {
	raced.Skip(t)
	layout := idgen.DatacenterProcess()
	clock := holdClock(epoch)
	pool := newPool(t, idgen.Config{Layout: layout, Clock: clock.Now, Rotate: true, MaxAhead: 2 * time.Millisecond, MaxWait: -1})
	for range 50_000 {
		id, err := pool.Next(t.Context())
		if err != nil {
			if _, ok := errors.AsType[*idgen.ClockError](err); !ok {
				t.Fatal(err)
			}
			continue
		}
		if p := layout.Decode(id); p.Rollback != 0 || p.Time.Sub(epoch) > 2*time.Millisecond {
			t.Fatalf("%+v", p)
		}
	}
}

func TestExhaustedOnEveryPath(t *testing.T) {
	for _, name := range []string{"Default", "Discord", "Instagram", "TSID", "DatacenterProcess"} {
		t.Run(name, func(t *testing.T) {
			layout := presets(t)[name]
			end := layout.Lifetime().End
			clock := holdClock(end.Add(-2 * time.Millisecond))
			pool := newPool(t, idgen.Config{Layout: layout, Clock: clock.Now, MaxAhead: idgen.NoLimit, Rotate: name == "DatacenterProcess"})
			ctx := t.Context()
			var ids []int64
			for {
				id, err := pool.Next(ctx)
				if err != nil {
					if !errors.Is(err, idgen.ErrLayoutExhausted) {
						t.Fatal(err)
					}
					break
				}
				if ids = append(ids, id); len(ids) > 3*4096 {
					t.Fatal("more ids than the last ticks have")
				}
			}
			ascending(t, ids)
			if last := layout.Decode(ids[len(ids)-1]); ids[len(ids)-1] < 0 || !last.Time.Equal(end.Add(-time.Millisecond)) {
				t.Errorf("the last id is %d, of %v", ids[len(ids)-1], last.Time)
			}
			if got := pool.Health(); got.State != idgen.Exhausted || !got.Expiring {
				t.Errorf("health %+v", got)
			}
			clock.set(end.AddDate(200, 0, 0)) // now the clock is past the end too
			for what, call := range map[string]func() error{
				"Next":   func() error { _, err := pool.Next(ctx); return err },
				"NextN":  func() error { _, err := pool.NextN(ctx, 2); return err },
				"Append": func() error { _, err := pool.Append(ctx, nil, 1); return err },
				"Named":  func() error { _, err := pool.Named("other").Next(ctx); return err },
			} {
				if err := call(); !errors.Is(err, idgen.ErrLayoutExhausted) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if _, err := idgen.NewPool(idgen.Config{Layout: layout, Clock: clock.Now, Worker: func(int) (int64, error) { return 0, nil }}); err == nil {
				t.Error("a pool was made after the end of its layout")
			}
		})
	}
}

func TestWaitEndsWithContext(t *testing.T) {
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
		wg.Go(func() { // a long wait, since this takes the ids of 10 s
			must(pool.NextN(t.Context(), 4096*10_000))
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
		seen := map[int64]bool{}
		for _, id := range ids {
			if seen[id] {
				t.Errorf("id %d twice", id)
			}
			seen[id] = true
		}
	})
}

func TestFrozenClockDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := holdClock(epoch.AddDate(1, 0, 0).Add(-1)) // 1 ns before the next tick
		readings := 0
		pool := newPool(t, idgen.Config{Clock: func() time.Time { readings++; return clock.Now() }, MaxAhead: -1, NoSpread: true})
		must(pool.NextN(t.Context(), 4095))(t)
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

func TestCloseEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newClock()
		pool := newPool(t, idgen.Config{Clock: clock.Now, MaxWait: time.Hour})
		mustNext(t, pool)
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
		if err := pool.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	})
}

// Tests that no call returns an id after Close, on any path and in any tick.
func TestClosed(t *testing.T) {
	for _, at := range []time.Time{epoch, epoch.Add(time.Nanosecond), epoch.AddDate(3, 0, 0)} {
		t.Run(at.Format(time.RFC3339Nano), func(t *testing.T) {
			pool := newPool(t, idgen.Config{Clock: holdClock(at).Now, MaxAhead: idgen.NoLimit})
			orders := pool.Named("orders")
			mustNext(t, orders)
			if err := pool.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			for name, src := range map[string]idgen.Source{"pool": pool, "named": orders, "new": pool.Named("late")} {
				for range 3 {
					if id, err := src.Next(t.Context()); !errors.Is(err, idgen.ErrClosed) {
						t.Errorf("%s: Next %d, %v", name, id, err)
					}
					if ids, err := src.Append(t.Context(), nil, 5); !errors.Is(err, idgen.ErrClosed) || ids != nil {
						t.Errorf("%s: Append %v, %v", name, ids, err)
					}
				}
			}
			if s := pool.Health().State; s != idgen.Closed {
				t.Errorf("health %v", s)
			}
			if err := pool.Close(t.Context()); err != nil {
				t.Errorf("second Close: %v", err)
			}
		})
	}
}

func TestSealRacesWithNext(t *testing.T) {
	for range 300 {
		pool := newPool(t, idgen.Config{MaxAhead: idgen.NoLimit, Worker: func(int) (int64, error) { return 77, nil }})
		var wg sync.WaitGroup
		issued := make([]int64, 4)
		for i := range issued {
			wg.Go(func() {
				for {
					id, err := pool.Next(context.Background())
					if err != nil {
						return
					}
					issued[i] = id
				}
			})
		}
		if err := pool.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		// The next pool with this worker number must start above all of them.
		next := newPool(t, idgen.Config{Clock: holdClock(epoch).Now, MaxAhead: idgen.NoLimit, Worker: func(int) (int64, error) { return 77, nil }})
		id := mustNext(t, next)
		for _, before := range issued {
			if id <= before {
				t.Fatalf("id %d of the next pool after %d", id, before)
			}
		}
		if err := next.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	raced.Skip(t)
	pool := newPool(t, idgen.Config{MaxAhead: idgen.NoLimit})
	ctx := t.Context()
	dst := make([]int64, 0, 100)
	for name, call := range map[string]func() error{
		"Next":   func() error { _, err := pool.Next(ctx); return err },
		"Append": func() error { _, err := pool.Append(ctx, dst[:0], 100); return err },
		"Named":  func() error { _, err := pool.Named("a").Next(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(1000, func() {
				if err := call(); err != nil {
					t.Error(err)
				}
			}); n > 0 {
				t.Errorf("%s allocates %v times", name, n)
			}
		})
	}
}
