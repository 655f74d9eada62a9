package main

import "time"

// ceiling asks whether a full layout delivers all of its ids.
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
			// A generator at rest saves up MaxAhead, 10 ms: spend that first.
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

// waiting asks what it costs to wait at the ceiling: the CPU time of the
// process, less that of as many ids where nothing waits.
//
// It asks that of a layout with 256 ids per millisecond. Its generators wait as
// often as those of DefaultLayout, once a tick in every goroutine, but the ids
// between cost next to nothing. With 4,096 of them the difference says more
// about how the cores fight for the counter, here and where nothing waits, than
// about waiting: it can be anything from -30 to 15 % of a core.
func waiting(p *pools) topic {
	const perTick = 256
	t := topic{
		name:  "Waiting",
		title: "Waiting at the ceiling (of 256 ids per ms, so that waiting is all that there is)",
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
