package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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

// among has goroutines share the work: each takes some of it until none is left,
// so that nobody waits long for one whose core was taken away. The workload must
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

// crowd names so many goroutines.
func crowd(goroutines int) string {
	if goroutines == 1 {
		return "one goroutine"
	}
	return fmt.Sprintf("%d goroutines", goroutines)
}
