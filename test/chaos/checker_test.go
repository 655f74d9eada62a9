package chaos

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
)

const counter = 1<<43 + 1

// journals returns a checker and n journals.
func journals(t *testing.T, n int) (*Checker, []*Journal) {
	t.Helper()
	c := NewChecker(idgen.DefaultLayout())
	var all []*Journal
	for i := range n {
		all = append(all, c.Journal(fmt.Sprint("process ", i)))
	}
	return c, all
}

func add(t *testing.T, j *Journal, grant int64, r Run) {
	t.Helper()
	if err := j.Add(grant, r); err != nil {
		t.Fatal(err)
	}
}

// check returns the pairs of leases that have duplicates, and the number of duplicates.
func check(t *testing.T, c *Checker) (found []*Duplicate, totals Totals, duplicates int64) {
	t.Helper()
	found, totals = c.Check()
	for _, d := range found {
		duplicates += d.Count
	}
	return found, totals, duplicates
}

func TestCheckerFindsDuplicates(t *testing.T) {
	run := func(worker, first, last int64) Run { return Run{worker, counter + first, counter + last} }
	for name, tt := range map[string]struct {
		runs []Run // each belongs to a different process
		want int64
	}{
		"nothing":                     {nil, 0},
		"neighbours":                  {[]Run{run(1, 0, 9), run(1, 10, 20)}, 0},
		"of two workers":              {[]Run{run(1, 0, 9), run(2, 0, 9)}, 0},
		"one id in common":            {[]Run{run(1, 0, 10), run(1, 10, 20)}, 1},
		"the same id":                 {[]Run{run(1, 0, 0), run(1, 0, 0)}, 1},
		"three times the same id":     {[]Run{run(1, 0, 0), run(1, 0, 0), run(1, 0, 0)}, 2},
		"within another":              {[]Run{run(1, 0, 99), run(1, 50, 50)}, 1},
		"behind one within another":   {[]Run{run(1, 0, 99), run(1, 5, 6), run(1, 99, 120)}, 3},
		"the first id of the next":    {[]Run{run(1, 10, 20), run(1, 0, 10)}, 1},
		"across the end of a tick":    {[]Run{run(1, 0, 5000), run(1, 4095, 4096)}, 2},
		"each worker begins at start": {[]Run{run(1, 0, 99), run(2, 50, 60), run(2, 61, 70)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, js := journals(t, len(tt.runs))
			for i, r := range tt.runs {
				add(t, js[i], 1, r)
			}
			if found, _, n := check(t, c); n != tt.want {
				t.Errorf("%s: %d duplicates, want %d: %v", name, n, tt.want, found)
			}
		})
	}
}

func TestCheckerFindsDuplicatesOfOneProcess(t *testing.T) {
	for name, grants := range map[string][2]int64{"two grants": {1, 2}, "one grant, out of order": {1, 1}} {
		c, js := journals(t, 1)
		add(t, js[0], grants[0], Run{1, counter, counter + 9})
		add(t, js[0], grants[1], Run{1, counter + 9, counter + 12})
		add(t, js[0], grants[1], Run{1, counter + 13, counter + 20})
		if found, _, n := check(t, c); n != 1 {
			t.Errorf("%s: %d duplicates, want 1: %v", name, n, found)
		}
	}
}

// Runs of random processes overlap at random. We then compare the number of duplicates
// with what a map of all ids tells us.
func TestCheckerCountsDuplicatesExactly(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		c, js := journals(t, 4)
		ids, drawn := map[[2]int64]bool{}, int64(0)
		reach := 1 + r.Int64N(2000) // how close the runs are to each other
		for range 50 {
			first := counter + r.Int64N(reach)
			run := Run{r.Int64N(2), first, first + r.Int64N(10)}
			add(t, js[r.IntN(4)], r.Int64N(2), run)
			for n := run.First; n <= run.Last; n++ {
				ids[[2]int64{run.Worker, n}] = true
			}
			drawn += run.count()
			if r.IntN(10) == 0 {
				check(t, c) // a check must be possible before the end, too
			}
		}
		if found, totals, n := check(t, c); totals.IDs != drawn || n != drawn-int64(len(ids)) {
			t.Errorf("seed %d: %d duplicates among %d ids, want %d among %d: %v", seed, n, totals.IDs, drawn-int64(len(ids)), drawn, found)
		}
	}
}

func TestJournalRefusesWhatIsNoRun(t *testing.T) {
	_, js := journals(t, 1)
	for _, r := range []Run{{1, 5, 4}, {1, -1, 4}} {
		if js[0].Add(1, r) == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
}

// For ids of both layouts, we must get the same worker number and counter as package
// idgen.
func TestNumbering(t *testing.T) {
	for _, l := range []idgen.Layout{idgen.DefaultLayout(), days} {
		n := numberingOf(l)
		for range 1000 {
			worker := rand.Int64N(1 << n.worker.bits)
			c := rand.Int64N(1 << (n.time.bits + n.sequence.bits) / 2)
			id := n.id(worker, c)
			if w, again, ok := n.split(id); !ok || w != worker || again != c {
				t.Errorf("%v: id %d of worker %d and counter %d has worker %d and counter %d, %t", l, id, worker, c, w, again, ok)
			}
			p := l.Decode(id)
			tick := int64(p.Time.Sub(l.Epoch()) / l.Unit())
			if p.Worker != worker || tick<<n.sequence.bits|p.Sequence != c {
				t.Errorf("%v: idgen reads id %d as %+v, want worker %d and counter %d", l, id, p, worker, c)
			}
		}
		if _, _, ok := n.split(-1); ok {
			t.Error("a negative number is an id")
		}
	}
	if _, _, ok := numberingOf(days).split(1 << 62); ok {
		t.Error("a number with bits above the layout is an id")
	}
}
