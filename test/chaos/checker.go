package chaos

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/snowkey-go/snowkey/idgen"
)

// A Checker finds every id that is in two runs. Its memory grows with the number of
// leases, and not with ids or runs. It is safe for concurrent use.
type Checker struct {
	dir     string
	numbers numbering

	mu       sync.Mutex
	journals []*Journal
}

// NewChecker returns a checker of ids of a layout, which keeps runs in files in
// dir.
func NewChecker(dir string, layout idgen.Layout) *Checker {
	return &Checker{dir: dir, numbers: numberingOf(layout)}
}

// Journal returns a new journal for the runs of a process. Labels of processes
// are unique.
func (c *Checker) Journal(process string) (*Journal, error) {
	j, err := newJournal(c.dir, process, c.numbers)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.journals = append(c.journals, j)
	return j, nil
}

// A Duplicate has ids that were issued more than once: under two grants, or under one
// grant in a wrong order.
type Duplicate struct {
	Count       int64
	First, Last int64 // the smallest and the largest of these ids; not every id between them is a duplicate
	Worker      int64
	Issued      [2]string // by which process under which grant
}

func (d *Duplicate) Error() string {
	return fmt.Sprintf("chaos: %d duplicate ids of worker %d, from %d to %d: issued by %s, and again by %s",
		d.Count, d.Worker, d.First, d.Last, d.Issued[0], d.Issued[1])
}

// Totals are what a checker has checked.
type Totals struct{ Leases, Runs, IDs int64 }

// Check reads all runs that were added so far and returns their duplicates. The sum of
// all Counts is the number of ids minus the number of different ids. It returns an error
// if a journal cannot be written or read.
func (c *Checker) Check() ([]*Duplicate, Totals, error) {
	c.mu.Lock()
	journals := slices.Clone(c.journals)
	c.mu.Unlock()
	workers, totals := map[int64][]part{}, Totals{}
	for _, j := range journals {
		parts, err := j.flush()
		if err != nil {
			return nil, totals, err
		}
		for _, p := range parts {
			workers[p.worker] = append(workers[p.worker], p)
			totals.Leases++
			totals.Runs += p.runs
			totals.IDs += p.ids
		}
	}
	var all []*Duplicate
	for _, worker := range slices.Sorted(maps.Keys(workers)) {
		found, err := c.sweep(workers[worker])
		if err != nil {
			return nil, totals, err
		}
		all = append(all, found...)
	}
	return all, totals, nil
}

// sweep merges the parts of a worker number, in which runs ascend. It compares each run
// with the earlier run that has the largest last id. An id that is in any earlier run is
// also in that one, because it starts no later than the run and ends no earlier than the
// id.
func (c *Checker) sweep(parts []part) (found []*Duplicate, err error) {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.first, b.first) })
	pairs := map[[2]*part]*Duplicate{}
	var open cursors
	defer func() {
		for _, cur := range open {
			cur.file.Close()
		}
	}()
	reach := Run{Last: -1}
	var reacher *part
	for len(parts) > 0 || len(open) > 0 {
		// A part is opened when the sweep has arrived at it, so that few are open.
		if len(parts) > 0 && (len(open) == 0 || parts[0].first <= open[0].First) {
			cur, err := parts[0].open()
			if err != nil {
				return nil, err
			}
			parts = parts[1:]
			if err := open.add(cur); err != nil {
				return nil, err
			}
			continue
		}
		cur := open[0]
		if r := cur.Run; r.First <= reach.Last {
			pair := [2]*part{reacher, cur.part}
			d := pairs[pair]
			if d == nil {
				d = &Duplicate{Worker: r.Worker, First: c.numbers.id(r.Worker, r.First), Issued: [2]string{reacher.String(), cur.part.String()}}
				pairs[pair] = d
				found = append(found, d)
			}
			last := min(r.Last, reach.Last)
			d.Count += last - r.First + 1
			d.Last = max(d.Last, c.numbers.id(r.Worker, last))
		}
		if cur.Run.Last > reach.Last {
			reach, reacher = cur.Run, cur.part
		}
		if err := open.advance(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// cursors is a heap: the first one is at the run that begins first.
type cursors []*cursor

func (h cursors) Len() int           { return len(h) }
func (h cursors) Less(i, j int) bool { return h[i].First < h[j].First }
func (h cursors) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *cursors) Push(x any)        { *h = append(*h, x.(*cursor)) }
func (h *cursors) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (h *cursors) add(cur *cursor) error {
	if ok, err := cur.next(); err != nil || !ok {
		return errors.Join(err, cur.file.Close())
	}
	heap.Push(h, cur)
	return nil
}

// advance moves the first cursor to its next run, or drops it at its end.
func (h *cursors) advance() error {
	cur := (*h)[0]
	ok, err := cur.next()
	if err != nil {
		return err // and the cursor is closed with the others
	}
	if ok {
		heap.Fix(h, 0)
		return nil
	}
	heap.Pop(h)
	return cur.file.Close()
}
