package main

import "time"

// ceiling measures whether a generator running at its maximum rate really issues every
// id that its layout has room for.
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
			// A generator that has been idle can run MaxAhead (10 ms) ahead of the
			// clock, so draw these ids before we start to measure.
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
// maximum rate. To get at that cost, we subtract the CPU time of the same number of ids
// without waiting from the CPU time of the process.
//
// The layout only has 256 ids per millisecond. Its generators wait just as often as
// with DefaultLayout, once a tick in every goroutine, but make few ids between two
// waits. With 4,096 ids a tick, this can't be measured because contention for the
// counter dwarfs the cost of waiting: the difference came out anywhere between -30 and
// 15 % of a core.
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
				l.ratio, l.bar, l.verdict = share.format("%.1f", 100)+" % of a core", "< 8 %", verdict(share.median < 0.08)
				if !countsCPU {
					l.verdict = "not measured on this system"
				}
				return []line{l}
			},
		})
	}
	return t
}
