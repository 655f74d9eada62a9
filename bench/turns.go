package main

import (
	"runtime"
	"slices"
	"time"
)

// A turn is one measured run of a workload.
type turn struct {
	n    int           // pieces of work done
	wall time.Duration // by the clock on the wall
	cpu  time.Duration // of all cores together
}

func (t turn) wallEach() float64 { return float64(t.wall) / float64(t.n) }
func (t turn) cpuEach() float64  { return float64(t.cpu) / float64(t.n) }

func take(w workload, n int) (turn, error) {
	cpu, start := cpuTime(), time.Now()
	err := w(n)
	wall := time.Since(start)
	return turn{n, wall, cpuTime() - cpu}, err
}

// fit returns how many pieces of work take about d.
func fit(w workload, d time.Duration) (int, error) {
	for n := 1; ; n *= 2 {
		t, err := take(w, n)
		if err != nil {
			return 0, err
		}
		if t.wall >= d {
			return max(1, int(float64(d)/t.wallEach())), nil
		}
	}
}

// A pace says how two workloads take turns.
type pace struct {
	turn time.Duration // how long a turn is, and at most a quarter of the time; 0 means one piece of work
	warm int           // pieces of work before each turn that do not count, for generators that run ahead after a rest
	same bool          // the yardstick does the same number of pieces in a turn
}

// A comparison has the turns of two workloads. Noise on the machine affects two
// neighbouring turns in the same way, so their ratio is more precise than the ratio of two
// means.
type comparison struct{ ours, theirs []turn }

// compare lets two workloads take turns for about d and at least 3 rounds. The order is
// A B, B A, A B and so on, because the first workload in a round may be slower.
func compare(ours, theirs workload, p pace, d time.Duration) (comparison, error) {
	length := min(p.turn, d/4)
	n, err := fit(ours, length)
	if err != nil {
		return comparison{}, err
	}
	m := n
	if !p.same {
		if m, err = fit(theirs, length); err != nil {
			return comparison{}, err
		}
	}
	var c comparison
	sides := [2]func() error{
		func() error { return p.take(ours, n, &c.ours) },
		func() error { return p.take(theirs, m, &c.theirs) },
	}
	start := time.Now()
	for round := 0; round < 3 || time.Since(start) < d; round++ {
		for i := range sides {
			if err := sides[(round+i)%2](); err != nil {
				return comparison{}, err
			}
		}
	}
	return c, nil
}

// take appends a turn of w to turns.
func (p pace) take(w workload, n int, turns *[]turn) error {
	if p.warm > 0 {
		if err := w(p.warm); err != nil {
			return err
		}
	}
	t, err := take(w, n)
	*turns = append(*turns, t)
	return err
}

// values returns f of each round.
func (c comparison) values(f func(ours, theirs turn) float64) []float64 {
	values := make([]float64, len(c.ours))
	for i := range values {
		values[i] = f(c.ours[i], c.theirs[i])
	}
	return values
}

func (c comparison) spread(f func(ours, theirs turn) float64) spread { return spreadOf(c.values(f)) }

// A spread is the median of many measurements, with the quartiles.
type spread struct{ low, median, high float64 }

func spreadOf(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	last := len(sorted) - 1
	return spread{
		low:    sorted[last/4],
		median: (sorted[last/2] + sorted[last-last/2]) / 2,
		high:   sorted[last-last/4],
	}
}

// allocsEach returns the number of allocations per piece of work. It rounds down, as
// package testing does, because the goroutines that among starts and the growth of a table
// also allocate.
func allocsEach(w workload, n int) (int, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := w(n)
	runtime.ReadMemStats(&after)
	return int(after.Mallocs-before.Mallocs) / n, err
}
