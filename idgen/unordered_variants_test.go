package idgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
)

// unorderedLayouts counts the calls of unorderedLayout.
var unorderedLayouts atomic.Int64

// unorderedLayout returns a layout with a long sequence that no other test has. With a
// shared layout, a pool would start above the ids of an earlier pool, which may have
// run in a bubble in the future. The epoch is before the start of a bubble's clock.
func unorderedLayout(t *testing.T) Layout {
	t.Helper()
	days := int(unorderedLayouts.Add(1))
	l, err := NewLayout(time.Date(2000, 1, -days, 0, 0, 0, 0, time.UTC), time.Millisecond, Time(41), Sequence(22))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// checkLag takes ids at random rates and pauses at random times. It returns an error if
// the tick of an id ended more than 2 ms ago. It must run in a bubble, where timers run
// as soon as they are due.
func checkLag(ctx context.Context, pool *Pool, u *Unordered) (lagged int, err error) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		for range []int{3 * maxBlock, 1, 100, 2*maxBlock + 7}[i%4] {
			id, err := u.Next(ctx)
			if err != nil {
				return lagged, err
			}
			lag := time.Since(pool.layout.Decode(id).Time) - pool.unit // since the end of the id's tick
			if lag > 0 {
				lagged++
			}
			if lag > 2*time.Millisecond {
				return lagged, fmt.Errorf("id %d is of a tick that was over for %v", id, lag)
			}
		}
		time.Sleep(time.Duration(r.Int64N(int64(4 * time.Millisecond))))
		synctest.Wait()
	}
	return lagged, nil
}

func TestUnorderedLagsTwoMillisecondsAtMost(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*Unordered)
	}{
		{name: "correct"},
		{"nothing shuts the window", func(u *Unordered) { u.timer = time.AfterFunc(time.Hour, func() {}) }},
		{"the window is wider", func(u *Unordered) {
			u.timer = time.AfterFunc(time.Hour, func() { time.Sleep(5 * time.Millisecond); u.shut() })
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool := unorderedPool(t, unorderedLayout(t))
				u := pool.Unordered()
				if tt.spoil != nil {
					tt.spoil(u)
				}
				lagged, err := checkLag(t.Context(), pool, u)
				time.Sleep(10 * time.Millisecond) // let all timers run
				if (err == nil) != (tt.spoil == nil) {
					t.Errorf("found %v", err)
				}
				if lagged == 0 {
					t.Error("no id lagged at all: the clock was looked at for each, and nothing was tested")
				}
			})
		})
	}
}

// If the timer does not run, for instance after a pause of the process, each goroutine
// gets late ids until its block is used up. However, the first goroutine to take
// another block reads the clock, and from then on no goroutine may get a late id.
func TestUnorderedWithoutItsTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := unorderedPool(t, unorderedLayout(t))
		u := pool.Unordered()
		u.timer = time.AfterFunc(time.Hour, func() {})
		stale := func(calls int) (n int) {
			for range calls {
				id, err := u.Next(t.Context())
				if err != nil {
					panic(err)
				}
				if time.Since(pool.layout.Decode(id).Time) > 2*time.Millisecond {
					n++
				}
			}
			return n
		}
		steps := make(chan int)
		go func() { // another goroutine, which has another lane
			for calls := range steps {
				if n := stale(calls); n > 0 {
					t.Errorf("another goroutine got %d late ids after the first had read the clock", n)
				}
				steps <- 0
			}
		}()
		step := func(calls int) { steps <- calls; <-steps }
		const rush = 3*maxBlock + maxBlock/2
		stale(rush)
		step(rush)
		some := 0
		for range 5 {
			time.Sleep(10 * time.Second)
			n := stale(maxBlock)
			if n >= maxBlock {
				t.Errorf("%d late ids; want %d at most", n, maxBlock-1)
			}
			if n := stale(rush); n > 0 {
				t.Errorf("%d more", n)
			}
			step(rush)
			some += n
		}
		if some == 0 {
			t.Error("no id was late: each call read the clock, and nothing was tested")
		}
		close(steps)
	})
}

// A call takes a block while the window is open, but doesn't put it into its lane until
// the window has closed.
func TestUnorderedLateBlock(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sound bool
		put   func(u *Unordered, lane uint64, b, mine *block)
	}{
		{"correct", true, (*Unordered).put},
		{"without another look", false, func(u *Unordered, lane uint64, b, mine *block) { u.lanes[lane].CompareAndSwap(b, mine) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool := unorderedPool(t, unorderedLayout(t))
				g, u := &pool.main, pool.Unordered()
				for range 3*maxBlock + maxBlock/2 {
					if _, err := u.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if u.fresh.Load() == never {
					t.Fatal("calls at a high rate read the clock for each id")
				}
				put := interrupted(g, tt.put)
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
				put()
				id, err := u.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if lag := time.Since(pool.layout.Decode(id).Time); lag < 2*time.Millisecond != tt.sound {
					t.Errorf("the next id is of %v before", lag)
				}
			})
		})
	}
}

// A millisecond after the last call, no timer may be running anymore.
func TestUnorderedStopsItsTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := unorderedPool(t, unorderedLayout(t)).Unordered()
		for range 10 {
			for range 4 * maxBlock {
				if _, err := u.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if u.fresh.Load() == never {
				t.Fatal("calls at a high rate read the clock for each id")
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if u.fresh.Load() != never || u.timer.Stop() {
				t.Error("a timer runs, or nothing would shut the window")
			}
		}
	})
}

func unorderedPool(t *testing.T, l Layout) *Pool {
	t.Helper()
	pool, err := NewPool(Config{Layout: l, Worker: func(int) (int64, error) { return 0, nil }, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close(context.Background()) })
	return pool
}

// checkSeal takes ids at a high rate from a pool with a lease, and then calls seal,
// which must end the tenure and return the first unused counter. A second pool with the
// same worker number then starts at this counter. checkSeal returns an error if the
// first pool still issues an id, or if the two issue the same one. Between its steps,
// seal may call draw, which takes an id from the first pool.
func checkSeal(t *testing.T, seal func(g *Generator, draw func()) (unused int64)) error {
	layout := unorderedLayout(t)
	open := func(start int64) *Pool {
		pool, err := newLeased(Config{Layout: layout}, func(i leased.Issuer) (leased.Keeper, error) {
			i.Grant(0, start, 1<<62)
			return granted{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return pool
	}
	owner := map[int64]*Pool{}
	// All calls are made by one goroutine at the same depth of its stack. Otherwise it
	// might not keep its lane.
	type draw struct {
		pool  *Pool
		calls int
	}
	draws, results := make(chan draw), make(chan error)
	defer close(draws)
	go func() {
		for d := range draws {
			ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond) // to end calls that would wait
			var err error
			for i := 0; i < d.calls && err == nil; i++ {
				var id int64
				if id, err = d.pool.Unordered().Next(ctx); err == nil && owner[id] != nil {
					err = fmt.Errorf("id %d repeats", id)
				} else if err == nil {
					owner[id] = d.pool
				}
			}
			cancel()
			results <- err
		}
	}()
	take := func(pool *Pool, calls int) error {
		draws <- draw{pool, calls}
		return <-results
	}
	const rush = 3*maxBlock + maxBlock/2
	first := open(0)
	if err := take(first, rush); err != nil {
		return err
	}
	unused := seal(&first.main, func() { take(first, 1) })
	// Start the second pool at once, so that the clock has not moved and no block is
	// too old.
	err := take(open(unused), rush)
	if late := take(first, 1); !errors.Is(late, context.DeadlineExceeded) {
		err = errors.Join(err, fmt.Errorf("the first drew after it was sealed, with %v", late))
	}
	return err
}

// interrupted starts calls that replace the blocks of all used lanes, but stops just
// before they put the new blocks into the lanes. The function that it returns does the
// rest.
func interrupted(g *Generator, put func(u *Unordered, lane uint64, b, mine *block)) (rest func()) {
	u, s := g.Unordered(), g.seq.Load()
	var puts []func()
	for i := range u.lanes {
		if b := u.lanes[i].Load(); b.count > 0 {
			first, count := g.takeBlock(s, s.last.Load(), u.size, g.clock.now())
			mine := u.block(s, first, count)
			puts = append(puts, func() { put(u, uint64(i), b, mine) })
		}
	}
	return func() {
		for _, put := range puts {
			put()
		}
	}
}

func TestUnorderedIsSealed(t *testing.T) {
	used := func(u *Unordered) (unused int64) { // computed from the ids that calls have got
		for i := range u.lanes {
			if b := u.lanes[i].Load(); b.count > 0 {
				unused = max(unused, b.number+min(b.next.Load(), b.count))
			}
		}
		return unused
	}
	for _, tt := range []struct {
		name  string
		sound bool
		seal  func(g *Generator, draw func()) (unused int64)
	}{
		{"correct", true, func(g *Generator, draw func()) int64 {
			draw()
			last := g.seal()
			draw()
			return last + 1
		}},
		{"the sequence alone", false, func(g *Generator, draw func()) int64 {
			return g.seq.Load().last.Swap(sealed) + 1
		}},
		{"what is left of blocks is given back while they are drawn from", false, func(g *Generator, draw func()) int64 {
			g.seq.Load().last.Swap(sealed)
			unused := used(g.Unordered())
			draw()
			g.Unordered().seal()
			return unused
		}},
		{"a call has taken a block and not yet put it into its lane", true, func(g *Generator, draw func()) int64 {
			put := interrupted(g, (*Unordered).put)
			last := g.seal()
			put()
			return last + 1
		}},
		{"the same, and blocks end where they are", false, func(g *Generator, draw func()) int64 {
			put := interrupted(g, (*Unordered).put)
			last := g.seq.Load().last.Swap(sealed)
			for i := range g.Unordered().lanes {
				g.Unordered().lanes[i].Load().end()
			}
			put()
			return last + 1
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if err := checkSeal(t, tt.seal); (err == nil) != tt.sound {
					t.Errorf("found %v", err)
				}
			})
		})
	}
}
