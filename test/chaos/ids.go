package chaos

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
)

// A grant is one lease of a process.
type grant struct {
	process string
	number  int64 // counts the grants of the process
}

// A run is a range of consecutive ids, all of which were drawn under one grant.
type run struct {
	by          grant
	first, last int64 // inclusive
}

// A checker keeps all runs, and finds every id that occurs in two of them. It is safe for
// concurrent use.
type checker struct {
	mu     sync.Mutex
	runs   []run
	latest map[grant]int // the place of its last run
}

func newChecker() *checker { return &checker{latest: make(map[grant]int)} }

// add adds a run. If it continues the previous run of its grant, the two are merged.
func (c *checker) add(r run) error {
	if r.first < 0 || r.last < r.first {
		return fmt.Errorf("chaos: no run can begin at %d and end at %d", r.first, r.last)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, ok := c.latest[r.by]; ok && c.runs[i].last+1 == r.first {
		c.runs[i].last = r.last
		return nil
	}
	c.latest[r.by] = len(c.runs)
	c.runs = append(c.runs, r)
	return nil
}

// check returns a line for each run that has ids of an earlier one, and the number of ids
// and of grants.
func (c *checker) check() (duplicates []string, ids int64, grants int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// In ascending order, we only need to compare each run with the earlier run that has the
	// largest last id. If an id is in any earlier run, it must also be in that one, which
	// starts no later than the run and ends no earlier than the id.
	runs := slices.SortedFunc(slices.Values(c.runs), func(a, b run) int { return cmp.Compare(a.first, b.first) })
	var farthest run
	for i, r := range runs {
		ids += r.last - r.first + 1
		if i > 0 && r.first <= farthest.last {
			last := min(r.last, farthest.last)
			duplicates = append(duplicates, fmt.Sprintf("%d duplicate ids from %d to %d: issued by %s under its grant %d, and again by %s under its grant %d",
				last-r.first+1, r.first, last, farthest.by.process, farthest.by.number, r.by.process, r.by.number))
		}
		if i == 0 || r.last > farthest.last {
			farthest = r
		}
	}
	return duplicates, ids, len(c.latest)
}

// write writes all runs, for the evidence of a failure.
func (c *checker) write(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.runs {
		fmt.Fprintln(w, r.by.process, r.by.number, r.first, r.last)
	}
}
