package idgen_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/worker"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/raced"
)

// With NoLimit, a generator continues from its last id after any jump of the clock, and
// it should do so without a wait or a duplicate.
func TestContinuesAfterClockJumps(t *testing.T) {
	raced.Skip(t)
	r := rand.New(rand.NewPCG(3, 4))
	for name, layout := range presets(t) {
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
					more := errtest.Must(pool.NextN(t.Context(), 1+r.IntN(5000)))(t)
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

// FuzzClock runs a script in which each byte either steps the clock or takes ids. After a
// burst the clock is behind, just as if it had been set back, but then the generator must not
// use up a rollback number, because the clock will catch up.
func FuzzClock(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 100, 255, 0, 128, 64})
	f.Add(bytes.Repeat([]byte{9, 255, 129}, 30))
	f.Add(bytes.Repeat([]byte{199}, 24)) // bursts
	f.Fuzz(func(t *testing.T, script []byte) {
		raced.Skip(t)
		layout := preset("datacenter-process")
		clock := holdClock(epoch)
		pool := newPool(t, idgen.Config{
			Layout: layout, Clock: clock.Now, MaxAhead: 3 * time.Millisecond, MaxWait: -1, Rotate: true,
			Worker: func(int) (int64, error) { return 31, nil },
		})
		last := map[int64]int64{} // ids ascend per rollback number, so none repeats
		back := int64(0)          // how often the clock was set back
		for i, b := range script[:min(len(script), 24)] {
			switch {
			case b < 64:
				clock.step(time.Duration(b) * 300 * time.Microsecond)
			case b < 96:
				clock.step(-time.Duration(b) * time.Millisecond)
				back++
			default:
				ids, err := pool.NextN(t.Context(), int(b)*int(b)%5000)
				if err != nil {
					ce, isClock := errors.AsType[*idgen.ClockError](err)
					if !isClock || ce.Behind <= 0 || ce.RetryAfter <= 0 {
						t.Fatal(err)
					}
					continue
				}
				for _, id := range ids {
					p := layout.Decode(id)
					if id <= last[p.Rollback] || p.Rollback > back {
						t.Fatalf("step %d: id %d (%+v) repeats or descends", i, id, p)
					}
					if lead := p.Time.Sub(clock.Now()); lead > 3*time.Millisecond {
						t.Fatalf("step %d: id %d is %v ahead of the clock", i, id, lead)
					}
					last[p.Rollback] = id
				}
			}
		}
	})
}

func TestRotates(t *testing.T) {
	oneBit := errtest.Must(idgen.NewLayout(epoch, time.Millisecond, idgen.Time(41), idgen.Worker(9), idgen.Rollback(1), idgen.Sequence(12)))(t)
	for _, tt := range []struct {
		name      string
		layout    idgen.Layout
		rollbacks int64
	}{{"2 bits", preset("datacenter-process"), 3}, {"1 bit", oneBit, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			start := epoch.AddDate(1, 0, 0)
			clock := holdClock(start)
			pool := newPool(t, idgen.Config{Layout: tt.layout, Clock: clock.Now, Rotate: true})
			var ids []int64
			for rollback := range tt.rollbacks + 1 {
				clock.set(start) // the same time in each round
				for range 100 {
					id := mustNext(t, pool)
					ids = append(ids, id)
					p := tt.layout.Decode(id)
					if p.Rollback != rollback || p.Time.Sub(start).Abs() > time.Millisecond {
						t.Fatalf("rollback %d: %+v", rollback, p)
					}
				}
				clock.step(time.Hour)
				mustNext(t, pool)
			}
			unique(t, ids, len(ids))
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

// Both the layout and the generator say when a layout ends. No id is issued after that,
// also not a negative one.
func TestExhausted(t *testing.T) {
	layouts := presets(t)
	layouts["292 years"] = errtest.Must(idgen.NewLayout(epoch, idgen.NoLimit, idgen.Time(1), idgen.Worker(10), idgen.Sequence(12)))(t)
	for _, name := range []string{"default", "discord", "instagram", "tsid", "datacenter-process", "mastodon", "292 years"} {
		t.Run(name, func(t *testing.T) {
			layout := layouts[name]
			end := layout.Lifetime().End
			clock := holdClock(end.Add(-2 * time.Millisecond))
			cfg := idgen.Config{Layout: layout, Clock: clock.Now, MaxAhead: idgen.NoLimit, Rotate: name == "datacenter-process"}
			pool := newPool(t, cfg)
			var ids []int64
			for {
				id, err := pool.Next(t.Context())
				if errors.Is(err, idgen.ErrLayoutExhausted) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if ids = append(ids, id); len(ids) > 2<<16 {
					t.Fatal("more ids than the last ticks have")
				}
			}
			ascending(t, ids)
			last := ids[len(ids)-1]
			if at := layout.Decode(last).Time; last < 0 || at.Before(end.Add(-layout.Unit())) || !at.Before(end) || last > errtest.Must(layout.MaxID(end.Add(-1)))(t) {
				t.Errorf("the last id is %d, of %v", last, at)
			}
			if _, err := layout.MinID(end); err == nil {
				t.Errorf("there is an id of %v, the end", end)
			}
			if got := pool.Health(); got.State != idgen.Exhausted || !got.Expiring {
				t.Errorf("health %+v", got)
			}
			for _, past := range []time.Time{end, end.AddDate(200, 0, 0)} {
				clock.set(past)
				refused(t, idgen.ErrLayoutExhausted, pool)
				refused(t, idgen.ErrLayoutExhausted, pool.Named("other"))
			}
			cfg.Worker = worker.Static(0)
			if _, err := idgen.NewPool(cfg); err == nil {
				t.Error("a pool was made after the end of its layout")
			}
		})
	}
}

// Tests that no call returns an id after Close, on any path and in any tick.
func TestClosed(t *testing.T) {
	for _, at := range []time.Time{epoch, epoch.Add(time.Nanosecond), epoch.AddDate(3, 0, 0)} {
		pool := newPool(t, idgen.Config{Clock: holdClock(at).Now, MaxAhead: idgen.NoLimit})
		orders := pool.Named("orders")
		mustNext(t, orders)
		errtest.NoError(t, pool.Close(t.Context()))
		for range 2 {
			refused(t, idgen.ErrClosed, pool)
			refused(t, idgen.ErrClosed, orders)
			refused(t, idgen.ErrClosed, pool.Named("late"))
		}
		if s := pool.Health().State; s != idgen.Closed {
			t.Errorf("health %v", s)
		}
		if err := pool.Close(t.Context()); err != nil {
			t.Errorf("second Close: %v", err)
		}
	}
}

// If a clock is centuries before the epoch, for instance because it returns the zero
// Time, calls should fail. Once it is right again, ids continue without a duplicate.
func TestClockFarBeforeTheEpoch(t *testing.T) {
	layouts := presets(t)
	for _, unit := range []time.Duration{146 * 365 * 24 * time.Hour, idgen.NoLimit} { // two ticks, and one
		layouts[unit.String()] = errtest.Must(idgen.NewLayout(epoch, unit, idgen.Time(1), idgen.Worker(10), idgen.Sequence(12)))(t)
	}
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			right := layout.Epoch().Add(layout.Unit() / 2)
			clock := holdClock(right)
			cfg := idgen.Config{Layout: layout, MaxAhead: time.Minute, MaxWait: -1, MaxBehind: time.Minute, Clock: clock.Now, Worker: worker.Static(0)}
			last := int64(0)
			for range 2 { // the second pool should continue above the first
				clock.set(right)
				pool := newPool(t, cfg)
				for range 2 {
					for _, wrong := range []time.Time{{}, layout.Epoch().AddDate(-293, 0, 0), layout.Epoch().AddDate(-291, 0, 0), layout.Epoch().AddDate(-30, 0, 0)} {
						clock.set(wrong)
						id, err := pool.Next(t.Context())
						if _, ok := errors.AsType[*idgen.ClockError](err); !ok {
							t.Errorf("at %v: %d, %v; want a ClockError", wrong, id, err)
						}
						if h := pool.Health(); h.State != idgen.Down || h.Behind <= 0 {
							t.Errorf("at %v: %+v", wrong, h)
						}
					}
					clock.set(right)
					for range 2 {
						id := mustNext(t, pool)
						if at := layout.Decode(id).Time; id <= last || at.After(right.Add(layout.Unit())) {
							t.Errorf("an id of %v is %d, of %v; the one before is %d", right, id, at, last)
						}
						last = id
					}
				}
				clock.set(time.Time{})
				errtest.NoError(t, pool.Close(t.Context()))
				if _, err := idgen.NewPool(cfg); err == nil {
					t.Error("a pool begins with such a clock")
				}
			}
		})
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
