package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// A workload does one piece of work n times. The workload itself contains the loop,
// because a function call for each piece would cost as much as the differences to be
// measured. The program and `go test -bench` run the same workloads.
//
// A workload is for one caller at a time, unless its comment says otherwise.
type workload func(n int) error

// kept keeps the results of workloads, so that the compiler does not remove the work.
var kept struct {
	ids    []int64
	text   []byte
	number int64

	// heap is as large as the heap of a usual program. If the heap were nearly empty,
	// the garbage collector would run every millisecond, which would distort the
	// results of workloads that allocate. heap takes no memory, because it is never
	// touched.
	heap []byte
}

// among divides the work between goroutines. Each goroutine takes one small part after
// another until none is left, so that a goroutine that has no core for a while delays the
// others only a little. The workload must be safe for concurrent use.
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
