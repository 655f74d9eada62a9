package chaos

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// A Run is a range of consecutive ids, all of which were drawn.
type Run struct{ First, Last int64 } // inclusive

// count returns the number of ids in the run.
func (r Run) count() int64 { return r.Last - r.First + 1 }

func bitsOf(l idgen.Layout, name string) int {
	for _, f := range l.Fields() {
		if f.Name == name {
			return f.Bits
		}
	}
	return 0
}

// counterOf returns the worker number and the counter of an id. As in package lease, a
// counter is tick and sequence packed into one integer. ok is false if the number is not
// an id of the layout.
func counterOf(l idgen.Layout, id int64) (worker, counter int64, ok bool) {
	p := l.Decode(id)
	again, err := l.Compose(p)
	return p.Worker, int64(p.Time.Sub(l.Epoch())/l.Unit())<<bitsOf(l, "sequence") | p.Sequence, err == nil && again == id && id >= 0
}

// idOf returns the id for a counter, or 0 if the layout has none.
func idOf(l idgen.Layout, worker, counter int64) int64 {
	bits := bitsOf(l, "sequence")
	id, _ := l.Compose(idgen.Parts{Time: l.Epoch().Add(time.Duration(counter>>bits) * l.Unit()), Worker: worker, Sequence: counter & (1<<bits - 1)})
	return id
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
		return fmt.Errorf("chaos: %s: no run can begin at %d and end at %d", j.process, r.First, r.Last)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.grants[grant] = true
	if n := len(j.runs); n > 0 && j.runs[n-1].grant == grant && j.runs[n-1].Last+1 == r.First {
		j.runs[n-1].Last = r.Last
	} else {
		j.runs = append(j.runs, drawn{r, j, grant})
	}
	return nil
}

// A Checker finds every id that occurs in two runs. It is safe for concurrent use.
type Checker struct {
	mu       sync.Mutex
	journals []*Journal
}

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
	First, Last int64     // smallest and largest of these ids, though not all in between have to be duplicates
	Issued      [2]string // by which process and under which grant, for both times
}

func (d *Duplicate) Error() string {
	return fmt.Sprintf("chaos: %d duplicate ids from %d to %d: issued by %s, and again by %s",
		d.Count, d.First, d.Last, d.Issued[0], d.Issued[1])
}

// Totals counts what a checker has checked.
type Totals struct {
	Leases, Runs int
	IDs          int64
}

// Check returns the duplicates among all runs that have been added so far. The sum of all
// Counts is the number of ids minus the number of different ids.
func (c *Checker) Check() (found []*Duplicate, totals Totals) {
	var runs []drawn
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.journals {
		j.mu.Lock()
		totals.Leases += len(j.grants)
		runs = append(runs, j.runs...)
		j.mu.Unlock()
	}
	totals.Runs = len(runs)
	// In ascending order, we only need to compare each run with the earlier run that has the
	// largest last id. If an id is in any earlier run, it must also be in that one, which
	// starts no later than the run and ends no earlier than the id.
	slices.SortFunc(runs, func(a, b drawn) int { return cmp.Compare(a.First, b.First) })
	pairs := map[[2]string]*Duplicate{}
	var farthest drawn
	for i, r := range runs {
		totals.IDs += r.count()
		if i > 0 && r.First <= farthest.Last {
			pair := [2]string{farthest.String(), r.String()}
			d := pairs[pair]
			if d == nil {
				d = &Duplicate{First: r.First, Issued: pair}
				pairs[pair] = d
				found = append(found, d)
			}
			last := min(r.Last, farthest.Last)
			d.Count += last - r.First + 1
			d.Last = max(d.Last, last)
		}
		if i == 0 || r.Last > farthest.Last {
			farthest = r
		}
	}
	return found, totals
}

// write writes all runs, for the evidence of a failure.
func (c *Checker) write(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.journals {
		j.mu.Lock()
		for _, d := range j.runs {
			fmt.Fprintln(w, d, d.First, d.Last)
		}
		j.mu.Unlock()
	}
}
