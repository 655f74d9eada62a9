package main

import (
	"context"
	"runtime"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// pooled measures the cost of an id for many goroutines that don't need their ids in
// order. The yardstick is the lowest possible cost of a unique number.
func pooled(p *pools) topic {
	const size = 1000
	cores := runtime.GOMAXPROCS(0)
	u := p.room.Named("unordered").Unordered()
	t := topic{
		name:  "Unordered",
		title: "Ids without order, with room in the layout; the yardstick is an atomic add whose sum is used",
		trials: []trial{{
			name:      crowd(1),
			work:      unordered(u),
			against:   "atomic add",
			yardstick: adds(),
			pace:      pace{turn: time.Millisecond}, // shorter than the time slices of a busy machine
			times:     2,
			bar:       bar{"≤ 1.5, 0 allocs", func(r result) bool { return r.ratio().median <= 1.5 && r.allocs == 0 }},
		}, {
			name:      crowd(cores),
			work:      unordered(u).among(cores),
			against:   "atomic add",
			yardstick: adds().among(cores),
			pace:      pace{turn: 10 * time.Millisecond},
			times:     2,
			bar:       bar{"≥ 2, 0 allocs", func(r result) bool { return r.rate().median >= 2 && r.allocs == 0 }},
			lines:     func(r result) []line { return []line{r.rated()} },
		}},
	}
	for _, goroutines := range []int{1, cores} {
		t.trials = append(t.trials, trial{
			name:      "Append of 1000, " + crowd(goroutines),
			work:      appendsOwn(u, size).among(goroutines),
			against:   "counting into a slice",
			yardstick: counts(size),
			pace:      pace{turn: 5 * time.Millisecond},
			pieces:    size,
			bar:       bar{"≤ 1 ns an id, 0 allocs", func(r result) bool { return r.cost() <= 1 && r.allocs == 0 }},
		})
	}
	return t
}

// unordered generates one id per call. It is safe for concurrent use.
func unordered(u *idgen.Unordered) workload {
	ctx := context.Background()
	return func(n int) error {
		for range n {
			if _, err := u.Next(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// appendsOwn appends ids to a slice, of which each caller has its own. It is safe for
// concurrent use.
func appendsOwn(u *idgen.Unordered, size int) workload {
	ctx := context.Background()
	return func(n int) (err error) {
		dst := make([]int64, 0, size)
		for range n {
			if dst, err = u.Append(ctx, dst[:0], size); err != nil {
				return err
			}
		}
		return nil
	}
}
