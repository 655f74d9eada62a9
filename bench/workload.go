package main

import (
	"errors"
	"fmt"
	"sync"
)

// A workload does one piece of work n times. It holds the loop itself: a call
// for each piece would cost as much as the differences that count here. The
// program and `go test -bench` run the same workloads.
//
// A workload is for one caller at a time, unless it says otherwise.
type workload func(n int) error

// kept is where workloads leave what they make, so that it is really made.
var kept struct {
	ids    []int64
	text   []byte
	number int64

	// heap is as much as a program may hold. Beside an empty heap the collector
	// would run every millisecond, and whatever allocates would be measured by
	// what that costs. Never touched, it takes no memory.
	heap []byte
}

// among splits the work among goroutines. The workload must be safe for
// concurrent use.
func (w workload) among(goroutines int) workload {
	if goroutines == 1 {
		return w
	}
	return func(n int) error {
		errs := make([]error, goroutines)
		var wg sync.WaitGroup
		for i := range goroutines {
			share := n / goroutines
			if i < n%goroutines {
				share++
			}
			wg.Go(func() { errs[i] = w(share) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}

// crowd names so many goroutines.
func crowd(goroutines int) string {
	if goroutines == 1 {
		return "one goroutine"
	}
	return fmt.Sprintf("%d goroutines", goroutines)
}
