package filestore

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// A span describes the ascending ids that one process drew under one lease.
type span struct {
	process                    string
	worker, first, last, count int64
}

// spans are safe for concurrent use.
type spans struct {
	mu  sync.Mutex
	all []span
}

func (s *spans) add(one span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
}

func (s *spans) total() (leases int, ids int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		ids += one.count
	}
	return len(s.all), ids
}

// overlaps returns an error for every two neighboring spans of a worker number that
// overlap, which must never happen.
func (s *spans) overlaps() (errs []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.all, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.worker, b.worker), cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last))
	})
	for i, one := range s.all {
		if i > 0 && s.all[i-1].worker == one.worker && one.first <= s.all[i-1].last {
			errs = append(errs, fmt.Errorf("%+v overlaps %+v", one, s.all[i-1]))
		}
	}
	return errs
}
