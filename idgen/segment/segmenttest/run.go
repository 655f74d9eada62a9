// Package segmenttest helps with testing segment stores and the code using them. [Run] is
// the test suite every [segment.Store] must pass, and [Memory] is an in-memory store that
// a test can slow down or make fail.
package segmenttest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/segment"
)

// Run tests that a store fulfills the contract of [segment.Store]. It calls open for each
// property, and expects to get an empty store that's usable until t ends. The store may
// return an error for one of two concurrent calls, as databases do, but then that call
// must not have had any effect.
func Run(t *testing.T, open func(t *testing.T) segment.Store) {
	for _, p := range properties {
		t.Run(p.name, func(t *testing.T) {
			if err := p.check(t.Context(), open(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A step is a fetch from a name, and the first number that it must grant.
type step struct {
	name                   string
	min, limit, span, want int64
}

func (s step) check(ctx context.Context, store segment.Store) error {
	f := segment.Fetch{Name: s.name, Min: s.min, Limit: s.limit, Span: s.span}
	start, err := store.Fetch(ctx, f)
	switch {
	case err != nil:
		return fmt.Errorf("%+v: %w", f, err)
	case start != s.want:
		return fmt.Errorf("%+v is granted from %d on, want %d", f, start, s.want)
	}
	return nil
}

// steps are fetches that follow each other.
type steps []step

func (all steps) check(ctx context.Context, store segment.Store) error {
	var errs []error
	for _, s := range all {
		errs = append(errs, s.check(ctx, store))
	}
	return errors.Join(errs...)
}

const (
	base int64 = 1<<53 + 1 // so large that a number that was converted to a float would be noticed
	end  int64 = math.MaxInt64
)

// properties are what every store must have.
var properties = []struct {
	name  string
	check func(context.Context, segment.Store) error
}{
	{"a name is made on first use", steps{
		{"a", base, end, 1, base},
		{"b", base, end, 1000, base},
		{"c", 1, 2, 1, 1},
	}.check},
	{"segments follow each other", steps{
		{"a", base, end, 1, base},
		{"a", base, end, 1, base + 1},
		{"a", base, end, 100, base + 2},
		{"a", base, end, 7, base + 102},
		{"a", base, end, 1 << 32, base + 109},
		{"a", base, end, 1, base + 109 + 1<<32},
		{"a", base, end, 2, base + 110 + 1<<32},
	}.check},
	{"a fetch begins at Min if the bound is below it", steps{
		{"a", base, end, 10, base},
		{"a", base + 9, end, 10, base + 10},    // below the bound, so it has no effect
		{"a", base + 20, end, 10, base + 20},   // equal to the bound
		{"a", base + 100, end, 10, base + 100}, // skips numbers
		{"a", 1, end, 10, base + 110},          // the skipped numbers must not come back
	}.check},
	{"numbers end at the limit", steps{
		{"a", base, base + 25, 10, base},
		{"a", base, base + 25, 10, base + 10},
		{"a", base, base + 25, 10, base + 20}, // only five are left
		{"a", base, base + 25, 10, base + 25},
		{"a", base, base + 25, 10, base + 25},
		{"a", base, base + 125, 10, base + 25}, // numbers above the old limit must not have been granted
	}.check},
	{"the limit is the caller's", steps{
		{"a", base, end, 100, base},
		{"a", base, base + 50, 100, base + 50}, // the bound is already far above the limit
		{"a", base, end, 100, base + 100},
	}.check},
	{"numbers end where int64 does", steps{
		{"a", end - 12, end, 5, end - 12},
		{"a", end - 12, end, end - 1, end - 7},
		{"a", end - 12, end, end - 1, end},
		{"b", base, end, end, base},
		{"b", base, end, 1, end},
	}.check},
	{"names have nothing in common", names().check},
	{"64 fetchers get segments of their own, up to the limit", fetchers},
	{"a call whose context has ended does nothing", cancelled},
}

// names fetches two segments from each name.
func names() (all steps) {
	list := []string{
		"a", "A", "ä", "a'b", `a"b`, "a`b", `a\b`, `\`, "a;b--", "100%", "$1", "?", "@min", "{table}", "a\nb", " a", "日本語", "🜁",
		"0123456789012345678901234567890123456789012345678901234567890123", // 64 bytes
		"ääääääääääääääääääääääääääääääää",                                 // these are 64 bytes as well
	}
	for round := range int64(2) {
		for i, name := range list {
			span := int64(i + 1)
			all = append(all, step{name, base, end, span, base + round*span})
		}
	}
	return all
}

// fetchers runs 64 goroutines that each fetch five segments, all at the same time. Calls
// that fail are retried, up to 1,000 times. Once the numbers are exhausted, the segments
// are empty. No two segments may overlap or leave a gap.
func fetchers(ctx context.Context, store segment.Store) error {
	last := segment.Fetch{Name: "a", Min: base, Limit: base + 8000, Span: 1} // the fetches want 10,400
	var mu sync.Mutex
	var all [][]int64 // start and end of each segment
	var errs []error
	var wg sync.WaitGroup
	for i := range 64 {
		f := last
		f.Span += int64(i)
		wg.Go(func() {
			for range 5 {
				start, err := store.Fetch(ctx, f)
				for refused := 0; err != nil && refused < 1000; refused++ {
					start, err = store.Fetch(ctx, f)
				}
				mu.Lock()
				all, errs = append(all, []int64{start, f.End(start)}), append(errs, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(all, slices.Compare)
	bound := base
	for _, s := range all {
		if s[0] != bound {
			errs = append(errs, fmt.Errorf("one segment ends at %d, the next begins at %d", bound, s[0]))
		}
		bound = s[1]
	}
	if bound != last.Limit {
		errs = append(errs, fmt.Errorf("the segments end at %d", bound))
	}
	return errors.Join(append(errs, step{"a", base, last.Limit, 1, last.Limit}.check(ctx, store))...)
}

func cancelled(ctx context.Context, store segment.Store) error {
	first := step{"a", base, end, 10, base}.check(ctx, store)
	over, cancel := context.WithCancel(ctx)
	cancel()
	if (step{"a", base, end, 10, base + 10}).check(over, store) == nil {
		return errors.New("it succeeds")
	}
	return errors.Join(first, step{"a", base, end, 10, base + 10}.check(ctx, store))
}
