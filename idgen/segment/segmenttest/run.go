package segmenttest

import (
	"cmp"
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

// A property is something that every store must have. check returns an error if the
// store doesn't.
type property struct {
	name  string
	check func(context.Context, segment.Store) error
}

var properties = []property{
	{"a name is made on first use", firstUse},
	{"segments follow each other", follow},
	{"a fetch begins at Min if the bound is below it", above},
	{"numbers end at the limit", limit},
	{"the limit is the caller's", otherLimit},
	{"numbers end where int64 does", largest},
	{"names have nothing in common", names},
	{"64 fetchers get segments of their own, up to the limit", fetchers},
	{"a call whose context has ended does nothing", cancelled},
}

// base is above 2^53, so that a number that was converted to a float would be noticed.
const base int64 = 1<<53 + 1

// grants fetches numbers and returns an error unless the first one is want.
func grants(ctx context.Context, store segment.Store, f segment.Fetch, want int64) error {
	start, err := store.Fetch(ctx, f)
	if err != nil {
		return fmt.Errorf("%+v: %w", f, err)
	}
	if start != want {
		return fmt.Errorf("%+v is granted from %d on, want %d", f, start, want)
	}
	return nil
}

// fetch returns a request for numbers from base on, with the largest possible limit.
func fetch(name string, span int64) segment.Fetch {
	return segment.Fetch{Name: name, Min: base, Limit: math.MaxInt64, Span: span}
}

func firstUse(ctx context.Context, store segment.Store) error {
	return errors.Join(
		grants(ctx, store, fetch("a", 1), base),
		grants(ctx, store, fetch("b", 1000), base),
		grants(ctx, store, segment.Fetch{Name: "c", Min: 1, Limit: 2, Span: 1}, 1),
	)
}

func follow(ctx context.Context, store segment.Store) error {
	var errs []error
	next := base
	for _, span := range []int64{1, 1, 100, 7, 1 << 32, 1, 2} {
		errs = append(errs, grants(ctx, store, fetch("a", span), next))
		next += span
	}
	return errors.Join(errs...)
}

func above(ctx context.Context, store segment.Store) error {
	f := fetch("a", 10)
	atLeast := func(min, want int64) error {
		f.Min = min
		return grants(ctx, store, f, want)
	}
	return errors.Join(
		atLeast(base, base),
		atLeast(base+9, base+10),    // below the bound, so it has no effect
		atLeast(base+20, base+20),   // equal to the bound
		atLeast(base+100, base+100), // skips numbers
		atLeast(1, base+110),        // the skipped numbers must not come back
	)
}

func limit(ctx context.Context, store segment.Store) error {
	f := segment.Fetch{Name: "a", Min: base, Limit: base + 25, Span: 10}
	errs := []error{
		grants(ctx, store, f, base),
		grants(ctx, store, f, base+10),
		grants(ctx, store, f, base+20), // only five are left
	}
	for range 3 {
		errs = append(errs, grants(ctx, store, f, f.Limit))
	}
	f.Limit += 100 // numbers above the old limit must not have been granted
	return errors.Join(append(errs, grants(ctx, store, f, base+25))...)
}

func otherLimit(ctx context.Context, store segment.Store) error {
	low, high := fetch("a", 100), fetch("a", 100)
	low.Limit = base + 50
	return errors.Join(
		grants(ctx, store, high, base),
		grants(ctx, store, low, low.Limit), // the bound is already far above the limit
		grants(ctx, store, high, base+100),
	)
}

func largest(ctx context.Context, store segment.Store) error {
	f := fetch("a", math.MaxInt64-1)
	f.Min = math.MaxInt64 - 12
	first := f
	first.Span = 5
	return errors.Join(
		grants(ctx, store, first, math.MaxInt64-12),
		grants(ctx, store, f, math.MaxInt64-7),
		grants(ctx, store, f, math.MaxInt64),
		grants(ctx, store, fetch("b", math.MaxInt64), base),
		grants(ctx, store, fetch("b", 1), math.MaxInt64),
	)
}

func names(ctx context.Context, store segment.Store) error {
	list := []string{
		"a", "A", "ä", "a'b", `a"b`, "a`b", `a\b`, `\`, "a;b--", "100%", "$1", "?", "@min", "{table}", "a\nb", " a", "日本語", "🜁",
		"0123456789012345678901234567890123456789012345678901234567890123", // 64 bytes
		"ääääääääääääääääääääääääääääääää",                                 // these are 64 bytes as well
	}
	var errs []error
	for round := range int64(2) {
		for i, name := range list {
			span := int64(i + 1)
			errs = append(errs, grants(ctx, store, fetch(name, span), base+round*span))
		}
	}
	return errors.Join(errs...)
}

// A granted is a segment that the store granted, or empty if there were no numbers
// left.
type granted struct{ start, end int64 }

// fetchers runs 64 goroutines that each fetch five segments, all at the same time. Calls
// that fail are retried, up to 1,000 times per goroutine. Once the numbers are exhausted,
// the segments are empty. No two segments may overlap or leave a gap.
func fetchers(ctx context.Context, store segment.Store) error {
	const n, most = 5, 1000 // fetches, and failed calls, per goroutine
	last := fetch("a", 1)
	last.Limit = base + 8000 // the fetches want 10,400
	var mu sync.Mutex
	var all []granted
	var errs []error
	var wg sync.WaitGroup
	for i := range 64 {
		f := last
		f.Span += int64(i)
		wg.Go(func() {
			for refused, got := 0, 0; got < n; {
				start, err := store.Fetch(ctx, f)
				mu.Lock()
				switch {
				case err == nil:
					got++
					all = append(all, granted{start, f.End(start)})
				case refused == most:
					errs = append(errs, err)
					got = n
				default:
					refused++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(all, func(a, b granted) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	bound := base
	for _, g := range all {
		if g.start != bound {
			errs = append(errs, fmt.Errorf("one segment ends at %d, the next begins at %d", bound, g.start))
		}
		bound = g.end
	}
	if len(all) != 64*n || bound != last.Limit {
		errs = append(errs, fmt.Errorf("%d segments up to %d", len(all), bound))
	}
	return errors.Join(append(errs, grants(ctx, store, last, last.Limit))...)
}

func cancelled(ctx context.Context, store segment.Store) error {
	first := grants(ctx, store, fetch("a", 10), base)
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := store.Fetch(over, fetch("a", 10)); err == nil {
		return errors.New("it succeeds")
	}
	return errors.Join(first, grants(ctx, store, fetch("a", 10), base+10))
}
