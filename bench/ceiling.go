package main

import "time"

// ceiling measures whether a generator at its maximum rate issues all ids of its layout.
func ceiling(p *pools) topic {
	const perTick = 4096
	t := topic{
		name:  "Ceiling",
		title: "Next, at the ceiling of DefaultLayout (4,096 ids per ms)",
	}
	for _, goroutines := range []int{1, 2, 64} {
		name := crowd(goroutines)
		t.trials = append(t.trials, trial{
			name:      name,
			work:      one(p.full.Named(name)).among(goroutines),
			against:   "with room in the layout",
			yardstick: one(p.room.Named(name)).among(goroutines),
			// A generator at rest can run MaxAhead (10 ms) ahead. Draw these ids first.
			pace:  pace{turn: 500 * time.Millisecond, warm: 25 * perTick, same: true},
			times: 2,
			lines: func(r result) []line {
				share := r.spread(func(ours, _ turn) float64 { return 1e6 / ours.wallEach() / perTick })
				l := r.line()
				l.ratio, l.bar, l.verdict = share.format("%.1f", 100)+" %", "≥ 99 %", verdict(share.median >= 0.99)
				return []line{l}
			},
		})
	}
	return t
}

// waiting measures what it costs to wait when a generator has reached its layout's
// maximum rate. The cost is the CPU time of the process, minus the CPU time of the same
// number of ids without waiting.
//
// The layout has 256 ids per millisecond. Its generators wait as often as with
// DefaultLayout, once a tick in every goroutine, but they make few ids between two waits.
// With 4,096 ids a tick, the cores' contention for the counter hides the cost of waiting:
// the difference was between -30 and 15 % of a core.
func waiting(p *pools) topic {
	const perTick = 256
	t := topic{
		name:  "Waiting",
		title: "Waiting at the ceiling of a layout with 256 ids per ms",
	}
	for _, goroutines := range []int{1, 2, 64} {
		name := crowd(goroutines)
		t.trials = append(t.trials, trial{
			name:      name,
			work:      one(p.narrow.Named(name)).among(goroutines),
			against:   "with room, one goroutine",
			yardstick: one(p.room.Named(name)),
			pace:      pace{turn: 500 * time.Millisecond, warm: 25 * perTick, same: true},
			times:     2,
			lines: func(r result) []line {
				share := r.spread(func(ours, theirs turn) float64 { return float64(ours.cpu-theirs.cpu) / float64(ours.wall) })
				l := r.line()
				l.ratio, l.bar, l.verdict = share.format("%.1f", 100)+" % of a core", "< 5 %", verdict(share.median < 0.05)
				if !countsCPU {
					l.verdict = "not measured on this system"
				}
				return []line{l}
			},
		})
	}
	return t
}
