package main

import (
	"fmt"
	"time"
)

// cold measures an id after a pause of about a millisecond, in which the caches were
// used for other things. This is how most programs call a generator, because they do
// something with each id.
func cold(p *pools) (topic, error) {
	bwmarrin, err := bwmarrinOne()
	if err != nil {
		return topic{}, err
	}
	ours := source{name: "snowkey", draw: one(p.full.Named("cold")), limit: 4096, ours: true}
	t := topic{
		name:  "Cold",
		title: "An id after a pause, one goroutine",
		note: "In every millisecond, the goroutine asks for this many ids and then sleeps. The clock has to be read in any case, so that reading it and an atomic add\n" +
			"  are the lowest possible cost.",
	}
	for _, against := range []source{{name: "bwmarrin/snowflake", draw: bwmarrin, limit: 4096}, {name: "time.Since + atomic add", draw: timeAndAdd()}} {
		for _, rate := range []int{1, 4, 16} {
			t.trials = append(t.trials, trial{
				name:    fmt.Sprintf("%d an ms, beside %s", rate, against.name),
				against: against.name,
				alone:   func(d time.Duration) ([]line, error) { return coldLine(ours, against, rate, d) },
			})
		}
	}
	return t, nil
}

func coldLine(ours, against source, rate int, d time.Duration) ([]line, error) {
	var a, b []float64
	more := lasting(3 * d)
	for round := 0; more(round); round++ {
		for i := range 2 {
			s, costs := ours, &a
			if (round+i)%2 == 1 {
				s, costs = against, &b
			}
			cost, err := paced(s, rate, min(d/10, 50*time.Millisecond))
			if err != nil {
				return nil, err
			}
			*costs = append(*costs, cost)
		}
	}
	ratio := quotients(a, b)
	l := line{
		name: fmt.Sprintf("%d an ms, beside %s", rate, against.name),
		cost: nanos(spreadOf(a).median), against: against.name, theirs: nanos(spreadOf(b).median),
		ratio: ratio.format("%.2f", 1),
	}
	if against.limit > 0 {
		l.bar, l.verdict = "≤ 1", verdict(ratio.median <= 1)
	}
	return []line{l}, nil
}
