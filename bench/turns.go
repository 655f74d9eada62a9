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
	turn time.Duration // how long a turn is, unless the time is too short for four; 0 means one piece of work
	warm int           // pieces of work before each turn that do not count, for work that saves up while it rests
	same bool          // the yardstick does as many pieces in a turn, however short that is
}

// A comparison is what two workloads took, turn by turn. What disturbs the
// machine disturbs both alike, so that the ratio of two turns side by side says
// more than that of two means.
type comparison struct{ ours, theirs []turn }

// compare lets two workloads take turns for about d, but for 3 rounds at least:
// A B, B A, A B and so on, because whoever goes first may be worse off.
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

// A spread is the middle of many measurements, and the quartiles around it.
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

// allocsEach returns how often one of n pieces of work allocates. It counts as
// package testing does, and rounds down: the goroutines of among and the
// growth of a table are not the work's.
func allocsEach(w workload, n int) (int, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := w(n)
	runtime.ReadMemStats(&after)
	return int(after.Mallocs-before.Mallocs) / n, err
}
