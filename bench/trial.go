package main

import (
	"fmt"
	"time"
)

// A topic is a section of the table.
type topic struct {
	name   string // for the names of Go benchmarks
	title  string
	note   string // what a reader needs to know to understand the lines
	trials []trial
}

// A trial is a workload together with its yardstick.
type trial struct {
	name      string
	work      workload
	against   string // the yardstick's name
	yardstick workload
	pace      pace
	times     int // measured this many times as long as usual because the results vary; 0 means 1
	pieces    int // number to divide the printed cost by; 0 means 1
	bar       bar
	peer      side   // which of the two is a peer's, if any
	why       string // why the peer may be faster; it names a table that shows it

	// lines returns the table's lines for a result. If nil, there is a single line that
	// compares the costs.
	lines func(result) []line

	// alone measures for about d, without a yardstick to take turns with. A trial must
	// set either alone, or work and yardstick, but not both.
	alone func(d time.Duration) ([]line, error)
}

// A side is one of the two workloads that take turns.
type side int

const (
	neither side = iota
	itsWork
	itsYardstick
)

// A bar is a value that a trial must reach. Any result reaches the zero bar.
type bar struct {
	text string
	met  func(result) bool
}

// A result contains the measurements of a trial.
type result struct {
	trial
	comparison
	allocs int
}

// measure runs the trial for about d, or for times that long.
func (t trial) measure(d time.Duration) ([]line, error) {
	if t.alone != nil {
		lines, err := t.alone(d)
		if err != nil {
			err = fmt.Errorf("%s: %w", t.name, err)
		}
		return lines, err
	}
	c, err := compare(t.work, t.yardstick, t.pace, d*time.Duration(max(t.times, 1)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	allocs, err := allocsEach(t.work, max(c.ours[0].n, 100))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	r := result{t, c, allocs}
	if t.lines != nil {
		return t.lines(r), nil
	}
	return []line{r.line()}, nil
}

// line returns a line that compares the costs.
func (r result) line() line {
	ratio, verb := r.ratio(), "%.2f"
	if ratio.median < 0.1 {
		verb = "%.4f"
	}
	return line{
		name:    r.name,
		cost:    nanos(r.cost()),
		cpu:     nanos(r.cpu()),
		allocs:  fmt.Sprint(r.allocs),
		against: r.against,
		theirs:  nanos(r.each(func(_, theirs turn) float64 { return theirs.wallEach() })),
		ratio:   ratio.format(verb, 1),
		bar:     r.bar.text,
		verdict: r.bar.verdict(r),
		behind:  r.peer == itsWork && ratio.high < 1 || r.peer == itsYardstick && ratio.low > 1,
		why:     r.why,
	}
}

// cost returns the median time of a piece of work, in nanoseconds.
func (r result) cost() float64 {
	return r.each(func(ours, _ turn) float64 { return ours.wallEach() })
}

// cpu returns the median CPU time of a piece of work, summed over all cores.
func (r result) cpu() float64 {
	return r.each(func(ours, _ turn) float64 { return ours.cpuEach() })
}

// ratio returns our cost divided by the yardstick's.
func (r result) ratio() spread {
	return r.spread(func(ours, theirs turn) float64 { return ours.wallEach() / theirs.wallEach() })
}

// rate returns our rate divided by the yardstick's.
func (r result) rate() spread {
	return r.spread(func(ours, theirs turn) float64 { return theirs.wallEach() / ours.wallEach() })
}

// rated is like line, but compares rates instead of costs.
func (r result) rated() line {
	l := r.line()
	l.ratio = r.rate().format("%.2f", 1) + " of its rate"
	return l
}

func (r result) each(f func(ours, theirs turn) float64) float64 {
	return r.spread(f).median / float64(max(r.pieces, 1))
}

func (b bar) verdict(r result) string {
	if b.met == nil {
		return ""
	}
	return verdict(b.met(r))
}
