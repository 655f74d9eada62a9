package segment_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmenttest"
	"github.com/snowkey-go/snowkey/internal/errtest"
)

var _ idgen.Source = (*segment.Segment)(nil)

// base is above 2^53, so that a number that was converted to a float would be noticed.
const base int64 = 1<<53 + 1

var silent = slog.New(slog.DiscardHandler)

// newSegment returns a Segment that is closed at the end of the test. Unless cfg says
// otherwise, it's named "orders" and begins at base.
func newSegment(t *testing.T, store segment.Store, cfg segment.Config) *segment.Segment {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "orders"
	}
	if cfg.MinValue == 0 {
		cfg.MinValue = base
	}
	if cfg.Logger == nil {
		cfg.Logger = silent
	}
	s := errtest.Must(segment.New(store, cfg))(t)
	t.Cleanup(func() {
		errtest.NoError(t, s.Close(context.Background()))
	})
	return s
}

func mustNext(t testing.TB, src idgen.Source) int64 {
	t.Helper()
	return errtest.Must(src.Next(t.Context()))(t)
}

// draws fails the test unless the source returns the numbers in want, one by one.
func draws(t *testing.T, src idgen.Source, want ...int64) {
	t.Helper()
	for _, want := range want {
		if got := mustNext(t, src); got != want {
			t.Fatalf("drew %d, want %d", got, want)
		}
	}
}

// appends fails the test unless the source returns n numbers that begin at first and
// are step apart.
func appends(t *testing.T, src idgen.Source, n int, first, step int64) {
	t.Helper()
	ids, err := src.Append(t.Context(), []int64{-1}, n)
	if err != nil || len(ids) != n+1 || ids[0] != -1 {
		t.Fatalf("%d numbers behind one, %v; want %d", len(ids), err, n)
	}
	for i, id := range ids[1:] {
		if want := first + int64(i)*step; id != want {
			t.Fatalf("number %d is %d, want %d", i, id, want)
		}
	}
}

// drawAll takes numbers from the sources in 64 goroutines, both single ones and several
// at a time, and returns all of them sorted. The numbers of each goroutine must ascend.
// If neighbours is set, the numbers of a single Append must also be consecutive.
func drawAll(t *testing.T, sources []idgen.Source, each int, neighbours bool) []int64 {
	t.Helper()
	var mu sync.Mutex
	var all []int64
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(i)))
			src := sources[i%len(sources)]
			var mine []int64
			for len(mine) < each {
				if r.IntN(4) > 0 {
					id, err := src.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					mine = append(mine, id)
					continue
				}
				before, n := len(mine), 1+r.IntN(40)
				var err error
				if mine, err = src.Append(t.Context(), mine, n); err != nil {
					t.Error(err)
					return
				}
				if neighbours && mine[len(mine)-1]-mine[before] != int64(n-1) {
					t.Errorf("one call got %v", mine[before:])
				}
			}
			for i := range mine[1:] {
				if mine[i] >= mine[i+1] {
					t.Errorf("%d before %d", mine[i], mine[i+1])
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	wg.Wait()
	slices.Sort(all)
	return all
}

func TestManyGoroutines(t *testing.T) {
	for _, step := range []int64{2, 1 << 20} {
		s := newSegment(t, new(segmenttest.Memory), segment.Config{MinStep: step, MaxStep: 32 * step})
		all := drawAll(t, []idgen.Source{s}, 2000, true)
		for i, id := range all {
			if id != base+int64(i) {
				t.Fatalf("number %d is %d, want %d", i, id, base+int64(i))
			}
		}
		for _, when := range []string{"open", "closed"} { // numbers dropped by Close don't count
			if n := s.Stats().Issued; n != int64(len(all)) {
				t.Errorf("%s: %d issued, and calls have returned %d", when, n, len(all))
			}
			errtest.NoError(t, s.Close(t.Context()))
		}
	}
}

func TestManyProcesses(t *testing.T) {
	store := new(segmenttest.Memory)
	var sources []idgen.Source
	for range 8 {
		sources = append(sources, newSegment(t, store, segment.Config{MinStep: 2, MaxStep: 64}))
	}
	all := drawAll(t, sources, 500, false)
	if unique := len(slices.Compact(slices.Clone(all))); unique != len(all) {
		t.Errorf("%d of %d numbers are unique", unique, len(all))
	}
	if most := all[len(all)-1]; most >= store.Bound("orders") {
		t.Errorf("drew %d; the bound is %d", most, store.Bound("orders"))
	}
}

// With any Offset and Stride, a Segment must issue the numbers right up to MaxValue.
func TestLastNumbers(t *testing.T) {
	for _, most := range []int64{math.MaxInt32, math.MaxInt64 - 1} {
		for stride := range int64(12) {
			cfg := segment.Config{MinValue: most - 9, MaxValue: most, MinStep: 4, MaxStep: 4, Stride: stride + 1, Offset: stride}
			var want []int64
			for id := cfg.MinValue; id <= most && id > 0; id++ {
				if id%cfg.Stride == cfg.Offset {
					want = append(want, id)
				}
			}
			s := newSegment(t, new(segmenttest.Memory), cfg)
			draws(t, s, want...)
			for range 2 {
				id, err := s.Next(t.Context())
				e, ok := errors.AsType[*segment.ExhaustedError](err)
				if !ok || e.MaxValue != most || e.Name != "orders" {
					t.Fatalf("drew %d, %v", id, err)
				}
			}
			if h := s.Health(); h.State != idgen.Exhausted || h.Ready != 0 || h.Remaining != 0 {
				t.Errorf("health is %+v", h)
			}
		}
	}
}

// A call that requests more numbers than there are left must not take any.
func TestLargeCallsAreExhaustedFirst(t *testing.T) {
	s := newSegment(t, new(segmenttest.Memory), segment.Config{MaxValue: base + 9, MinStep: 3, MaxStep: 3})
	draws(t, s, base)
	if ids, err := s.Append(t.Context(), []int64{-1}, 10); len(ids) != 1 || err == nil {
		t.Fatalf("drew %d of 9 numbers, %v", len(ids), err)
	}
	if h := s.Health(); h != (segment.Health{Ready: 9, Step: 3}) {
		t.Errorf("with 9 left: %+v", h)
	}
	appends(t, s, 9, base+1, 1)
}

func TestCounts(t *testing.T) {
	s := newSegment(t, new(segmenttest.Memory), segment.Config{})
	appends(t, s, 0, base, 1)
	draws(t, s, base)
	for _, n := range []int{-1, 1<<24 + 1, math.MaxInt} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			ids, err := s.Append(t.Context(), []int64{-1}, n)
			if e, ok := errors.AsType[*idgen.CountError](err); !ok || e.Count != int64(n) || len(ids) != 1 {
				t.Errorf("%d numbers: %v", n, err)
			}
		})
	}
}

type storeFunc func(context.Context, segment.Fetch) (int64, error)

func (f storeFunc) Fetch(ctx context.Context, fetch segment.Fetch) (int64, error) {
	return f(ctx, fetch)
}

// slow makes every call of the store take as long as d says.
func slow(store *segmenttest.Memory, d *time.Duration) {
	store.Fault(func() segmenttest.Fault { time.Sleep(*d); return segmenttest.None })
}

// A call that gives up must not take a number, nor hold up other calls.
func TestCallsThatGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(segmenttest.Memory)
		takes := time.Second
		slow(store, &takes)
		s := newSegment(t, store, segment.Config{MinStep: 10, MaxStep: 10})
		draws(t, s, base)
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			if ids, err := s.Append(ctx, nil, 1000); !errors.Is(err, context.DeadlineExceeded) || ids != nil {
				t.Errorf("%d numbers, %v", len(ids), err)
			}
		})
		synctest.Wait()
		draws(t, s, base+1)
		appends(t, s, 18, base+2, 1)
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("those behind a call that waits were served after %v", took)
		}
		wg.Wait()
		draws(t, s, base+20)
		time.Sleep(time.Minute)

		again, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		wg.Go(func() { appends(t, s, 5000, base+21, 1) })
		synctest.Wait()
		if ids, err := s.Append(again, nil, 5001); !errors.Is(err, context.DeadlineExceeded) || ids != nil {
			t.Errorf("%d numbers, %v", len(ids), err)
		}
		wg.Wait()
	})
}

// Waiting calls are served in order, so that small ones can't starve a large one.
func TestServesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(segmenttest.Memory)
		takes := time.Second
		slow(store, &takes)
		s := newSegment(t, store, segment.Config{MinStep: 10, MaxStep: 10})
		var wg sync.WaitGroup
		first := base
		for i := range 30 {
			n, want := 1+i%3*50, first
			first += int64(n)
			wg.Go(func() { appends(t, s, n, want, 1) })
			synctest.Wait()
		}
		began := time.Now()
		wg.Wait()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the last was served after %v", took)
		}
	})
}

// rate takes n numbers per second, each in its own goroutine, and returns how long the
// slowest call took.
func rate(t *testing.T, s *segment.Segment, n int, d time.Duration) (longest time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range int(d * time.Duration(n) / time.Second) {
		wg.Go(func() {
			began := time.Now()
			mustNext(t, s)
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, time.Since(began))
		})
		time.Sleep(time.Second / time.Duration(n))
	}
	wg.Wait()
	return longest
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(segmenttest.Memory)
		s := newSegment(t, store, segment.Config{MinStep: 10, MaxStep: 10})
		draws(t, s, base)
		synctest.Wait()
		store.Fault(func() segmenttest.Fault { return segmenttest.Hang })
		var wg sync.WaitGroup
		wg.Go(func() {
			if ids, err := s.Append(t.Context(), nil, 100); !errors.Is(err, segment.ErrClosed) {
				t.Errorf("a call that waits: %d numbers, %v", len(ids), err)
			}
		})
		synctest.Wait()
		for range 2 {
			began := time.Now()
			if err := s.Close(t.Context()); err != nil || time.Since(began) != 0 {
				t.Errorf("closed after %v, %v", time.Since(began), err)
			}
		}
		wg.Wait()
		if id, err := s.Next(t.Context()); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("a closed segment drew %d, %v", id, err)
		}
		if h := s.Health(); h.State != idgen.Closed || h.Ready != 0 {
			t.Errorf("closed: %+v", h)
		}
	})
}

// If the store ignores its context, Close waits for it until Close's own context ends.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSegment(t, storeFunc(func(_ context.Context, f segment.Fetch) (int64, error) {
			time.Sleep(time.Hour)
			return f.Min, nil
		}), segment.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if id, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("drew %d, %v", id, err)
		}
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed: %v", err)
		}
		began := time.Now()
		if err := s.Close(t.Context()); err != nil || time.Since(began) != time.Hour-time.Second {
			t.Errorf("closed after %v: %v", time.Since(began), err)
		}
		if id, err := s.Next(t.Context()); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("drew %d, which the store has granted after Close: %v", id, err)
		}
	})
}

func TestAllocatesNothing(t *testing.T) {
	s := newSegment(t, new(segmenttest.Memory), segment.Config{MinStep: 1 << 30, MaxStep: 1 << 30})
	mustNext(t, s)
	ctx, dst := t.Context(), make([]int64, 0, 100)
	if n := testing.AllocsPerRun(1000, func() {
		_, _ = s.Next(ctx)
		dst, _ = s.Append(ctx, dst[:0], 100)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
