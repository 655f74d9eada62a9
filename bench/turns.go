package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A workload does one piece of work n times.
type workload func(n int) error

// repeat turns a function into a workload.
func repeat(f func() error) workload {
	return func(n int) error {
		for range n {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
}

// among divides the work between goroutines. They take a small part again and again, so
// one of them that waits for a core hardly delays the others. The workload must be safe
// for concurrent use.
func (w workload) among(goroutines int) workload {
	return func(n int) error {
		some := max(n/goroutines/16, 1)
		var taken atomic.Int64
		errs := make([]error, goroutines)
		var wg sync.WaitGroup
		for i := range goroutines {
			wg.Go(func() {
				for errs[i] == nil {
					end := int(taken.Add(int64(some)))
					mine := min(some, n-(end-some))
					if mine <= 0 {
						return
					}
					errs[i] = w(mine)
				}
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}

// took returns the time of a piece of work, in nanoseconds.
func (w workload) took(n int) (each float64, err error) {
	start := time.Now()
	err = w(n)
	return float64(time.Since(start)) / float64(n), err
}

// fit returns how many pieces of work fill about d.
func (w workload) fit(d time.Duration) (int, error) {
	for n := 1; ; n *= 2 {
		each, err := w.took(n)
		if err != nil {
			return 0, err
		}
		if each*float64(n) >= float64(d) {
			return max(1, int(float64(d)/each)), nil
		}
	}
}

// race lets workloads take turns of n pieces of work for as many rounds as more allows,
// and returns what a piece of each took in each round.
//
// A workload can slow down the next one, for example because the server still has to write
// pages. Over the rounds, each workload follows every other one equally often, and comes
// first equally often: the orders are a Williams square, 0, 3, 1, 2 shifted by one with
// every round.
func race(sides []workload, n int, more func(rounds int) bool) ([][]float64, error) {
	costs := make([][]float64, len(sides))
	for round := 0; more(round); round++ {
		for i := range sides {
			at := i / 2
			if i%2 == 1 {
				at = len(sides) - 1 - i/2
			}
			side := (at + round) % len(sides)
			each, err := sides[side].took(n)
			if err != nil {
				return nil, err
			}
			costs[side] = append(costs[side], each)
		}
	}
	return costs, nil
}

// A spread is the median of measurements, with their quartiles.
type spread struct{ low, median, high float64 }

func spreadOf(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	last := len(sorted) - 1
	return spread{sorted[last/4], (sorted[last/2] + sorted[last-last/2]) / 2, sorted[last-last/4]}
}

// ratios returns a / b, computed for each round.
func ratios(a, b []float64) spread {
	list := make([]float64, len(a))
	for i := range list {
		list[i] = a[i] / b[i]
	}
	return spreadOf(list)
}

func (s spread) String() string { return fmt.Sprintf("%.2f (%.2f–%.2f)", s.median, s.low, s.high) }
