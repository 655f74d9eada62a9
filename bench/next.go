package main

import (
	"runtime"
	"sync/atomic"
	"time"
)

// next measures the cost of an id when the layout doesn't limit the rate.
func next(p *pools) topic {
	t := topic{name: "Next", title: "Next, with room in the layout, alone and on all cores"}
	for _, goroutines := range []int{1, runtime.GOMAXPROCS(0)} {
		name := crowd(goroutines)
		t.trials = append(t.trials, trial{
			name:      name,
			work:      one(p.room.Named(name)).among(goroutines),
			against:   "time.Since + atomic add",
			yardstick: timeAndAdd().among(goroutines),
			pace:      pace{turn: 10 * time.Millisecond},
			bar: bar{"≤ 1.25, 0 allocs", func(r result) bool {
				return r.ratio().median <= 1.25 && r.allocs == 0
			}},
		})
	}
	return t
}

// timeAndAdd has the lowest possible cost of a time-ordered unique id, which is reading
// the clock plus an atomic add. It is safe for concurrent use. Its callers all update
// the same word, just as the callers of a generator do.
func timeAndAdd() workload {
	start := time.Now()
	word := new(struct {
		_ [64]byte // padding, to put the word on its own cache line as in a generator
		atomic.Int64
		_ [64]byte
	})
	return func(n int) error {
		var elapsed time.Duration
		for range n {
			elapsed = time.Since(start)
			word.Add(1)
		}
		runtime.KeepAlive(elapsed)
		return nil
	}
}
