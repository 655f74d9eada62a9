package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// A workload does one piece of work n times. It contains the loop, because a call for
// each piece would cost as much as the differences to measure. The program and
// `go test -bench` run the same workloads.
//
// A workload is for one caller at a time, unless its comment says otherwise.
type workload func(n int) error

// kept keeps the results of workloads, so that the compiler does not remove the work.
var kept struct {
	ids    []int64
	text   []byte
	number int64

	// heap is as large as the heap of a usual program. With an empty heap, the
	// collector would run every millisecond, and its cost would distort the results
	// of workloads that allocate. It takes no memory, because it is never touched.
	heap []byte
}

// among shares the work between goroutines. Each takes a small part until none is
// left, so that a goroutine without a core delays the others little. The workload must
// be safe for concurrent use.
func (w workload) among(goroutines int) workload {
	if goroutines == 1 {
		return w
	}
	return func(n int) error {
		const rounds = 16
		some := max(n/goroutines/rounds, 1)
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

// crowd prints a number of goroutines.
func crowd(goroutines int) string {
	if goroutines == 1 {
		return "one goroutine"
	}
	return fmt.Sprintf("%d goroutines", goroutines)
}
