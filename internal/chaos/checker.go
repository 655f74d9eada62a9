package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// A Span is the ids that one process drew under one lease, or a part of that.
// All have the same worker number, and they ascended.
type Span struct {
	Worker, First, Last, Count int64
	Process                    string // for people
}

// A Checker finds out whether an id is in two spans. Its memory grows with the
// number of leases, not of ids. It is safe for concurrent use.
type Checker struct {
	mu    sync.Mutex
	spans []Span
}

// Add takes a span.
func (c *Checker) Add(s Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans = append(c.spans, s)
}

// Total returns how many spans and ids were added.
func (c *Checker) Total() (spans int, ids int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		ids += s.Count
	}
	return len(c.spans), ids
}

// Check returns an error for each pair of neighbours whose ranges have an id in
// common, and for each span that cannot be.
func (c *Checker) Check() (errs []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortFunc(c.spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	var before Span // of those with a smaller first id, the one with the largest last
	for i, s := range c.spans {
		if s.Count < 1 || s.Count-1 > s.Last-s.First {
			errs = append(errs, fmt.Errorf("chaos: %v cannot have %d ascending ids", s, s.Count))
		}
		if i > 0 && before.Worker == s.Worker && s.First <= before.Last {
			errs = append(errs, fmt.Errorf("chaos: %v overlaps %v", s, before))
		}
		if i == 0 || before.Worker != s.Worker || s.Last > before.Last {
			before = s
		}
	}
	return errs
}

func (s Span) String() string {
	return fmt.Sprintf("%s: worker %d, ids %d to %d", s.Process, s.Worker, s.First, s.Last)
}
