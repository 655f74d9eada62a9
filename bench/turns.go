package main

import (
	"runtime"
	"slices"
	"time"
)

// A turn is one measured run of a workload.
type turn struct {
	n    int           // pieces of work that were done
	wall time.Duration // elapsed time
	cpu  time.Duration // CPU time, summed over all cores
}

func (t turn) wallEach() float64 { return float64(t.wall) / float64(t.n) }
func (t turn) cpuEach() float64  { return float64(t.cpu) / float64(t.n) }

func take(w workload, n int) (turn, error) {
	cpu, start := cpuTime(), time.Now()
	err := w(n)
	wall := time.Since(start)
	return turn{n, wall, cpuTime() - cpu}, err
}

// fit returns how many pieces of work it takes to fill about d.
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

// A pace defines how two workloads take turns.
type pace struct {
	turn time.Duration // length of a turn, at most a quarter of the total; 0 means one piece of work
	rest time.Duration // pause before each turn
	warm int           // pieces of work to do before each turn without measuring, since generators run ahead after a rest
	same bool          // do the same number of pieces of the yardstick in a turn
}

// A comparison contains the turns of two workloads. Any noise on the machine affects
// two neighbouring turns alike, which makes their ratio more precise than the ratio of
// two means.
type comparison struct{ ours, theirs []turn }

// compare lets two workloads take turns for about d, but at least 3 rounds. Since the
// first workload of a round may be slower, we alternate the order: A B, B A, A B and so
// on.
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

// take runs w for one turn and appends it to turns.
func (p pace) take(w workload, n int, turns *[]turn) error {
	if p.warm > 0 {
		if err := w(p.warm); err != nil {
			return err
		}
	}
	if p.rest > 0 {
		time.Sleep(p.rest)
	}
	t, err := take(w, n)
	*turns = append(*turns, t)
	return err
}

// values returns the result of f for each round.
func (c comparison) values(f func(ours, theirs turn) float64) []float64 {
	values := make([]float64, len(c.ours))
	for i := range values {
		values[i] = f(c.ours[i], c.theirs[i])
	}
	return values
}

func (c comparison) spread(f func(ours, theirs turn) float64) spread { return spreadOf(c.values(f)) }

// A spread is the median of many measurements, along with their quartiles.
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

// allocsEach returns the number of allocations per piece of work. Like package testing,
// it rounds down, because the goroutines started by among and the growth of a table
// allocate as well.
func allocsEach(w workload, n int) (int, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := w(n)
	runtime.ReadMemStats(&after)
	return int(after.Mallocs-before.Mallocs) / n, err
}
