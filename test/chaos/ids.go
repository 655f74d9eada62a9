package chaos

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// A Run is a range of consecutive counters of one worker number, all of which were
// drawn as ids. As in package lease, a counter is tick and sequence packed into one
// integer.
type Run struct {
	Worker      int64
	First, Last int64 // counters, inclusive
}

// count returns the number of ids in the run.
func (r Run) count() int64 { return r.Last - r.First + 1 }

// A numbering converts between ids and counters. It only supports layouts that have
// exactly three fields, namely time, worker and sequence. We deliberately don't share
// any code with idgen here, since that's what we want to test.
type numbering struct{ time, worker, sequence field }

type field struct{ shift, bits int }

func (f field) get(id int64) int64  { return id >> f.shift & (1<<f.bits - 1) }
func (f field) put(v int64) int64   { return v << f.shift }
func (f field) low(v int64) int64   { return v & (1<<f.bits - 1) }
func (f field) above(v int64) int64 { return v >> f.bits }

func numberingOf(l idgen.Layout) numbering {
	var n numbering
	shift := 0
	for _, of := range slices.Backward(l.Fields()) {
		f := field{shift, of.Bits}
		shift += f.bits
		switch of.Name {
		case "time":
			n.time = f
		case "worker":
			n.worker = f
		case "sequence":
			n.sequence = f
		default:
			panic("chaos: cannot number a layout with the field " + of.Name)
		}
	}
	return n
}

// id returns the id for a counter. Two ids are equal if and only if both their worker
// numbers and their counters are.
func (n numbering) id(worker, counter int64) int64 {
	return n.time.put(n.sequence.above(counter)) | n.worker.put(worker) | n.sequence.put(n.sequence.low(counter))
}

// split is the inverse of id. It returns false for ok if the number is not a valid id.
func (n numbering) split(id int64) (worker, counter int64, ok bool) {
	worker = n.worker.get(id)
	counter = n.time.get(id)<<n.sequence.bits | n.sequence.get(id)
	return worker, counter, id >= 0 && n.id(worker, counter) == id
}

// run returns the run that starts and ends with the given ids.
func (n numbering) run(first, last int64) (Run, error) {
	worker, from, ok := n.split(first)
	other, to, ok2 := n.split(last)
	if !ok || !ok2 || worker != other || to < from {
		return Run{}, fmt.Errorf("chaos: the ids %d and %d are not the ends of a run", first, last)
	}
	return Run{worker, from, to}, nil
}

// days has room for a run within a single day. It doesn't have enough to continue on
// that day after a process was killed, because such a process takes the rest of the day
// with it.
var days = func() idgen.Layout {
	epoch := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	l, err := idgen.NewLayout(epoch, 24*time.Hour, idgen.Time(15), idgen.Worker(10), idgen.Sequence(32))
	if err != nil {
		panic(err)
	}
	return l
}()

// A Journal keeps the runs of one process in memory. It is safe for concurrent use.
type Journal struct {
	process string

	mu     sync.Mutex
	grants map[int64]bool
	runs   []drawn
}

// drawn is a run, and who drew it.
type drawn struct {
	Run
	journal *Journal
	grant   int64
}

func (d drawn) String() string {
	return fmt.Sprintf("%s under its grant %d", d.journal.process, d.grant)
}

// Add adds a run that was drawn under the grant with the given number. If the run
// continues the previous one, the two are merged.
func (j *Journal) Add(grant int64, r Run) error {
	if r.First < 0 || r.Last < r.First {
		return fmt.Errorf("chaos: %s: no run can begin at counter %d and end at %d", j.process, r.First, r.Last)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.grants[grant] = true
	if n := len(j.runs); n > 0 && j.runs[n-1].grant == grant && j.runs[n-1].Worker == r.Worker && j.runs[n-1].Last+1 == r.First {
		j.runs[n-1].Last = r.Last
	} else {
		j.runs = append(j.runs, drawn{r, j, grant})
	}
	return nil
}

// A Checker finds every id that occurs in two runs. It is safe for concurrent use.
type Checker struct {
	numbers numbering

	mu       sync.Mutex
	journals []*Journal
}

// NewChecker returns a checker for ids of a layout.
func NewChecker(layout idgen.Layout) *Checker { return &Checker{numbers: numberingOf(layout)} }

// Journal returns a new journal for the runs of a process.
func (c *Checker) Journal(process string) *Journal {
	j := &Journal{process: process, grants: make(map[int64]bool)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.journals = append(c.journals, j)
	return j
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
type Totals struct {
	Leases, Runs int
	IDs          int64
}

// Check returns the duplicates among all runs that have been added so far. The sum of all
// Counts is the number of ids minus the number of different ids.
func (c *Checker) Check() (found []*Duplicate, totals Totals) {
	workers := map[int64][]drawn{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.journals {
		j.mu.Lock()
		totals.Leases += len(j.grants)
		totals.Runs += len(j.runs)
		for _, d := range j.runs {
			workers[d.Worker] = append(workers[d.Worker], d)
			totals.IDs += d.count()
		}
		j.mu.Unlock()
	}
	for _, worker := range slices.Sorted(maps.Keys(workers)) {
		found = append(found, c.sweep(workers[worker])...)
	}
	return found, totals
}

// sweep goes through the runs of a worker number in ascending order. It only needs to
// compare each run with the earlier run that has the largest last id. If an id is in any
// earlier run, it must also be in that one, which starts no later than the run and ends no
// earlier than the id.
func (c *Checker) sweep(runs []drawn) (found []*Duplicate) {
	slices.SortFunc(runs, func(a, b drawn) int { return cmp.Compare(a.First, b.First) })
	pairs := map[[2]string]*Duplicate{}
	farthest := runs[0]
	for _, r := range runs[1:] {
		if r.First <= farthest.Last {
			pair := [2]string{farthest.String(), r.String()}
			d := pairs[pair]
			if d == nil {
				d = &Duplicate{Worker: r.Worker, First: c.numbers.id(r.Worker, r.First), Issued: pair}
				pairs[pair] = d
				found = append(found, d)
			}
			last := min(r.Last, farthest.Last)
			d.Count += last - r.First + 1
			d.Last = max(d.Last, c.numbers.id(r.Worker, last))
		}
		if r.Last > farthest.Last {
			farthest = r
		}
	}
	return found
}

// write writes all runs, for the evidence of a failure.
func (c *Checker) write(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.journals {
		j.mu.Lock()
		for _, d := range j.runs {
			fmt.Fprintln(w, d, c.numbers.id(d.Worker, d.First), c.numbers.id(d.Worker, d.Last))
		}
		j.mu.Unlock()
	}
}
