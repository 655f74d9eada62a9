package main

import (
	"runtime"
	"time"

	"github.com/snowkey-go/snowkey/bench/internal/draw"
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
			yardstick: workload(draw.ClockAndAdd()).among(goroutines),
			pace:      pace{turn: 10 * time.Millisecond},
			bar: bar{"≤ 1.25, 0 allocs", func(r result) bool {
				return r.ratio().median <= 1.25 && r.allocs == 0
			}},
		})
	}
	return t
}
