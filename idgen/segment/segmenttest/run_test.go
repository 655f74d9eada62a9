package segmenttest

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/segment"
)

func TestMemory(t *testing.T) {
	Run(t, func(*testing.T) segment.Store { return new(Memory) })
}

// A variant is a store that keeps a bound for each key and grants whatever grant
// returns.
type variant struct {
	mu     sync.Mutex
	bounds map[string]int64
	key    func(name string) string
	grant  func(bound int64, known bool, f segment.Fetch) (start, next int64)
	torn   bool // reads and writes in two separate steps
	deaf   bool // ignores ctx
}

func (v *variant) Fetch(ctx context.Context, f segment.Fetch) (int64, error) {
	if !v.deaf && ctx.Err() != nil {
		return 0, ctx.Err()
	}
	key := f.Name
	if v.key != nil {
		key = v.key(key)
	}
	v.mu.Lock()
	bound, known := v.bounds[key]
	start, next := v.grant(bound, known, f)
	if v.torn {
		v.mu.Unlock()
		runtime.Gosched()
		v.mu.Lock()
	}
	v.bounds[key] = next
	v.mu.Unlock()
	return start, nil
}

// right is a correct grant function.
func right(bound int64, _ bool, f segment.Fetch) (start, next int64) {
	start = max(bound, f.Min)
	if start >= f.Limit {
		return f.Limit, bound
	}
	return start, f.End(start)
}

// TestTheSuiteCatchesBrokenStores checks that each broken store fails the test of the
// property that it violates.
func TestTheSuiteCatchesBrokenStores(t *testing.T) {
	for _, tt := range []struct {
		*variant
		name string
		want string // the property that has to catch it; "" if the store is correct
	}{
		{name: "sound", variant: &variant{grant: right}},
		{name: "reads and writes in two steps", variant: &variant{grant: right, torn: true}, want: "64 fetchers get segments of their own"},
		{name: "has one row for all names", variant: &variant{grant: right, key: func(string) string { return "" }}, want: "a name is made on first use"},
		{name: "cuts names short", variant: &variant{grant: right, key: func(name string) string { return name[:min(len(name), 1)] }}, want: "names have nothing in common"},
		{name: "forgets Min once the name is there", want: "a fetch begins at Min if the bound is below it",
			variant: &variant{grant: func(bound int64, known bool, f segment.Fetch) (start, next int64) {
				if known {
					f.Min = bound
				}
				return right(bound, known, f)
			}}},
		{name: "lets Min lower the bound", want: "a fetch begins at Min if the bound is below it",
			variant: &variant{grant: func(bound int64, _ bool, f segment.Fetch) (start, next int64) { return right(0, true, f) }}},
		{name: "grants beyond the limit", want: "numbers end at the limit",
			variant: &variant{grant: func(bound int64, _ bool, f segment.Fetch) (start, next int64) {
				start = max(bound, f.Min)
				return start, start + f.Span
			}}},
		{name: "moves the bound beyond the limit", want: "numbers end at the limit",
			variant: &variant{grant: func(bound int64, known bool, f segment.Fetch) (start, next int64) {
				start, next = right(bound, known, f)
				return start, max(next, bound+f.Span)
			}}},
		{name: "lowers the bound to a limit", want: "the limit is the caller's",
			variant: &variant{grant: func(bound int64, known bool, f segment.Fetch) (start, next int64) {
				start, next = right(bound, known, f)
				return start, min(next, f.Limit)
			}}},
		{name: "computes in floats", want: "segments follow each other",
			variant: &variant{grant: func(bound int64, known bool, f segment.Fetch) (start, next int64) {
				start, next = right(bound, known, f)
				return start, int64(float64(next))
			}}},
		{name: "grants one number twice", want: "segments follow each other",
			variant: &variant{grant: func(bound int64, known bool, f segment.Fetch) (start, next int64) {
				start, next = right(bound, known, f)
				return start, max(next-1, start)
			}}},
		{name: "skips a number", want: "segments follow each other",
			variant: &variant{grant: func(bound int64, known bool, f segment.Fetch) (start, next int64) {
				start, next = right(bound, known, f)
				return start, min(next+1, max(f.Limit, bound))
			}}},
		{name: "does not look at the context", variant: &variant{grant: right, deaf: true}, want: "a call whose context has ended does nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var failed []string
			for _, p := range properties {
				tt.bounds = make(map[string]int64)
				if err := p.check(t.Context(), tt.variant); err != nil {
					failed = append(failed, p.name)
				}
			}
			if sound := tt.want == ""; sound != (len(failed) == 0) || !sound && !slices.Contains(failed, tt.want) {
				t.Errorf("fails %q, want %q", failed, tt.want)
			}
		})
	}
}
