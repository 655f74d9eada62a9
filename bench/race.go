package main

import "time"

// race lets workloads take turns for as many rounds as more allows, and returns the
// turns of each workload. In each round, workload i does pieces[i] pieces of work.
//
// A workload can slow down the next one, for example because the server still has to
// write the pages that were changed. To be fair, we make sure that over the rounds each
// workload follows every other one equally often, and comes first equally often.
func race(sides []workload, pieces []int, more func(rounds int) bool) ([][]turn, error) {
	turns := make([][]turn, len(sides))
	for round := 0; more(round); round++ {
		for _, i := range order(len(sides), round) {
			t, err := take(sides[i], pieces[i])
			if err != nil {
				return nil, err
			}
			turns[i] = append(turns[i], t)
		}
	}
	return turns, nil
}

// order returns the order of n workloads in a round: 0, n-1, 1, n-2 and so on, shifted
// by one with every round. If n is odd, every second cycle is reversed. This is known
// as a Williams square.
func order(n, round int) []int {
	list := make([]int, n)
	for i := range list {
		at := i / 2
		if i%2 == 1 {
			at = n - 1 - i/2
		}
		list[i] = (at + round) % n
	}
	if n%2 == 1 && round/n%2 == 1 {
		for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
			list[i], list[j] = list[j], list[i]
		}
	}
	return list
}

// lasting allows as many rounds as fit into d, but at least 3.
func lasting(d time.Duration) func(rounds int) bool {
	start := time.Now()
	return func(rounds int) bool { return rounds < 3 || time.Since(start) < d }
}

// times allows n rounds.
func times(n int) func(rounds int) bool {
	return func(rounds int) bool { return rounds < n }
}

// ratios returns the cost of a divided by the cost of b, computed for each round.
func ratios(a, b []turn) spread {
	list := make([]float64, len(a))
	for i := range list {
		list[i] = a[i].wallEach() / b[i].wallEach()
	}
	return spreadOf(list)
}

// costs returns the costs of a piece of work, in nanoseconds.
func costs(turns []turn) spread {
	list := make([]float64, len(turns))
	for i := range list {
		list[i] = turns[i].wallEach()
	}
	return spreadOf(list)
}
