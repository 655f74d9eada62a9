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

// A Checker finds every id that occurs in two runs. The memory that it needs grows with
// the number of leases, but not with the number of ids or runs. It is safe for
// concurrent use.
type Checker struct {
	dir     string
	numbers numbering

	mu       sync.Mutex
	journals []*Journal
}

// NewChecker returns a checker for ids of a layout. It keeps the runs in files in dir.
func NewChecker(dir string, layout idgen.Layout) *Checker {
	return &Checker{dir: dir, numbers: numberingOf(layout)}
}

// Journal returns a new journal for the runs of a process. Each process must have a
// unique label.
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

// A Duplicate describes ids that were issued more than once, either under two grants,
// or in the wrong order under a single grant.
type Duplicate struct {
	Count       int64
	First, Last int64 // smallest and largest of these ids, though not all in between have to be duplicates
	Worker      int64
	Issued      [2]string // by which process and under which grant, for both times
}

func (d *Duplicate) Error() string {
	return fmt.Sprintf("chaos: %d duplicate ids of worker %d, from %d to %d: issued by %s, and again by %s",
		d.Count, d.Worker, d.First, d.Last, d.Issued[0], d.Issued[1])
}

// Totals counts what a checker has checked.
type Totals struct{ Leases, Runs, IDs int64 }

// Check reads all runs that have been added so far and returns their duplicates. The
// sum of all Counts is the number of ids minus the number of different ids. It returns
// an error if a journal can't be written or read.
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

// sweep merges the parts of a worker number, in which runs are in ascending order. It
// only needs to compare each run with the earlier run that has the largest last id. If
// an id is in any earlier run, it must also be in that one, which starts no later than
// the run and ends no earlier than the id.
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
		// Open a part only once the sweep has arrived at it, so that few of them are
		// open.
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

// cursors is a heap whose first cursor is at the run that begins first.
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

// advance moves the first cursor to its next run, or removes it if there are no more.
func (h *cursors) advance() error {
	cur := (*h)[0]
	ok, err := cur.next()
	if err != nil {
		return err // leave it in the heap, so that it gets closed with the others
	}
	if ok {
		heap.Fix(h, 0)
		return nil
	}
	heap.Pop(h)
	return cur.file.Close()
}
