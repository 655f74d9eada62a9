package idgen_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/raced"
)

var roomyLayouts atomic.Int64

// roomy returns a layout with 4,194,304 ids a millisecond that no other test has. Its
// epoch is at least 20 years before the start of a bubble's clock.
func roomy(t testing.TB) idgen.Layout {
	t.Helper()
	days := int(roomyLayouts.Add(1))
	return must(idgen.NewLayout(time.Date(1980, 1, -days, 0, 0, 0, 0, time.UTC), time.Millisecond, idgen.Time(41), idgen.Sequence(22)))(t)
}

// Tests that no id repeats while many goroutines draw from an Unordered and from its
// generator at once.
func TestUnorderedIsUnique(t *testing.T) {
	layouts := presets(t)
	layouts["roomy"] = roomy(t)
	for name, layout := range layouts {
		layout = must(layout.WithEpoch(epoch.AddDate(0, 0, int(-roomyLayouts.Add(1)))))(t)
		t.Run(name, func(t *testing.T) {
			g := newPool(t, idgen.Config{Layout: layout, MaxAhead: idgen.NoLimit}).Named("orders")
			u := g.Unordered()
			if again := g.Unordered(); u != again {
				t.Fatal("a generator has two")
			}
			const goroutines, calls = 8, 6000
			all := make([][]int64, goroutines)
			var wg sync.WaitGroup
			for i := range all {
				wg.Go(func() {
					for j := range calls {
						src := idgen.Source(u)
						if j%16 == 0 {
							src = g
						}
						n := 1
						if j%100 == 50 {
							n = 70
						}
						var err error
						if n == 1 {
							var id int64
							id, err = src.Next(t.Context())
							all[i] = append(all[i], id)
						} else {
							all[i], err = src.Append(t.Context(), all[i], n)
							ascending(t, all[i][len(all[i])-n:])
						}
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			seen := map[int64]bool{}
			for _, id := range slices.Concat(all...) {
				if seen[id] || layout.Decode(id).Worker != layout.Decode(all[0][0]).Worker {
					t.Fatalf("id %d twice, or of another worker", id)
				}
				seen[id] = true
			}
			if want := goroutines * (calls + calls/100*69); len(seen) != want {
				t.Errorf("%d ids; want %d", len(seen), want)
			}
		})
	}
}

// While the clock stands still, runs, jumps and goes back, no id may be ahead of the
// clock by more than MaxAhead, or behind it by a tick. Note that each call reads the
// clock here, because Config.Clock is set.
func TestUnorderedFollowsTheClock(t *testing.T) {
	raced.Skip(t)
	const ahead = 5 * time.Millisecond
	clock := holdClock(epoch.AddDate(1, 0, 0))
	pool := newPool(t, idgen.Config{Clock: clock.Now, MaxAhead: ahead, MaxWait: -1})
	r := rand.New(rand.NewPCG(8, 9))
	seen := map[int64]bool{}
	drawn := 0
	for i := range 3000 {
		switch {
		case i%500 == 0:
			clock.step(time.Duration(r.Int64N(2000)-1000) * time.Millisecond)
		case i%10 == 0:
			clock.step(time.Duration(r.IntN(3)) * time.Millisecond)
		}
		for range r.IntN(200) {
			id, err := pool.Unordered().Next(t.Context())
			if _, late := errors.AsType[*idgen.ClockError](err); late {
				clock.step(100 * time.Millisecond)
				break
			} else if err != nil {
				t.Fatal(err)
			}
			off := pool.Layout().Decode(id).Time.Sub(clock.Now())
			if seen[id] || off > ahead || off <= -time.Millisecond {
				t.Fatalf("id %d, %v ahead of the clock; known: %v", id, off, seen[id])
			}
			seen[id] = true
			drawn++
		}
	}
	if drawn < 100_000 {
		t.Errorf("%d ids only", drawn)
	}
}

// bubbled returns the number of goroutines in the caller's bubble. We can't just count
// all goroutines, because the process may have more, such as one that runs finalizers.
func bubbled(t *testing.T) int {
	t.Helper()
	stack := func(all bool) string {
		stacks := make([]byte, 1<<20)
		return string(stacks[:runtime.Stack(stacks, all)])
	}
	own := regexp.MustCompile(`synctest bubble \d+`).FindString(stack(false))
	if own == "" {
		t.Fatal("in no bubble")
	}
	return len(regexp.MustCompile(own+`\b`).FindAllString(stack(true), -1))
}

// Without calls, we shouldn't leave a timer or a goroutine behind. If we did, the
// bubble would not end, or we would find more goroutines than before.
func TestUnorderedLeavesNothingRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, idgen.Config{Layout: roomy(t)})
		before := bubbled(t)
		for range 10 {
			for range 10_000 {
				mustNext(t, pool.Unordered())
			}
			time.Sleep(3 * time.Millisecond)
			synctest.Wait()
			if n := bubbled(t); n > before {
				t.Errorf("%d goroutines, %d before", n, before)
			}
		}
	})
}

func TestUnorderedOfNoPool(t *testing.T) {
	var pool *idgen.Pool
	for _, src := range []idgen.Source{pool.Unordered(), pool.Named("orders").Unordered()} {
		_, err1 := src.Next(t.Context())
		_, err2 := src.Append(t.Context(), nil, 2)
		if !errors.Is(err1, idgen.ErrNoPool) || !errors.Is(err2, idgen.ErrNoPool) {
			t.Errorf("%v, %v", err1, err2)
		}
	}
}

func TestUnorderedAllocatesNothing(t *testing.T) {
	raced.Skip(t)
	u := newPool(t, idgen.Config{Layout: roomy(t)}).Unordered()
	dst := make([]int64, 0, 1000)
	for name, f := range map[string]func(){
		"Next":   func() { mustNext(t, u) },
		"Append": func() { must(u.Append(t.Context(), dst, 1000))(t) },
	} {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(20_000, f); n != 0 {
				t.Errorf("%s allocates %v times", name, n)
			}
		})
	}
}
