package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// A workload does one piece of work n times. The loop is inside the workload because
// calling a function for each piece would cost as much as the differences that we want
// to measure. Both the program and `go test -bench` run these workloads.
//
// A workload must not be called concurrently unless its comment says that it can be.
type workload func(n int) error

// kept holds the results of workloads, which keeps the compiler from optimizing the
// work away.
var kept struct {
	ids    []int64
	text   []byte
	number int64

	// heap makes our heap as large as in an ordinary program. With a nearly empty heap,
	// the garbage collector would run every millisecond, and distort the results of
	// workloads that allocate. This doesn't actually take any memory, because heap is
	// never touched.
	heap []byte
}

// among divides the work between goroutines. They repeatedly take a small part until
// nothing is left, so if one of them doesn't get a core for a while, it only delays the
// others a little. The workload must be safe for concurrent use.
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

// crowd describes a number of goroutines.
func crowd(goroutines int) string {
	if goroutines == 1 {
		return "one goroutine"
	}
	return fmt.Sprintf("%d goroutines", goroutines)
}
