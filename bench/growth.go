package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/bench/internal/draw"
)

// rates measures how the cost of an id changes with the rate at which ids are drawn. Each
// round has new sources of these kinds, at other places in memory.
func rates(p *pools, kinds []source) study {
	offered := []int{1, 4, 16, 64, 256, 1024, 4096, 16384}
	return study{title: "Cost of an id at different rates", measure: func(d time.Duration) (found findings, err error) {
		s := sheet{
			title: "Cost of an id at different rates",
			note: "In every millisecond, one goroutine asks for this many ids and then sleeps. The table shows how long a call for an id takes, " +
				"including the time it waits. Above the ceiling of its layout, a source has to wait. " +
				"Note that ids cost more at low rates, because the core has just slept. In each round, the sources are at other places in memory.",
			columns: []string{"ids a millisecond"},
		}
		plotted := plot{
			name: "rate", title: "Cost of an id at different rates",
			x:     axis{title: "ids asked for in a millisecond", log: true, ticks: floats(offered)},
			y:     axis{title: "ns an id", log: true},
			marks: []mark{{4096, "DefaultLayout ends"}},
		}
		for _, kind := range kinds {
			s.columns = append(s.columns, kind.name)
			plotted.series = append(plotted.series, series{name: kind.name, ours: kind.ours})
		}
		for _, rate := range offered {
			each := make([][]float64, len(kinds))
			more := lasting(3 * d)
			for round := 0; more(round); round++ {
				beside := draw.Place(round)
				placed, err := sources(p, fmt.Sprintf("rate %d, round %d", rate, round))
				if err != nil {
					return found, err
				}
				for _, i := range order(len(placed), round) {
					cost, err := paced(placed[i], rate, min(d/10, 25*time.Millisecond))
					if err != nil {
						return found, fmt.Errorf("%s: %w", placed[i].name, err)
					}
					each[i] = append(each[i], cost)
				}
				runtime.KeepAlive(beside)
			}
			cells := []string{commas(int64(rate))}
			for i, list := range each {
				cost := spreadOf(list)
				cells = append(cells, nanos(cost.median))
				plotted.series[i].points = append(plotted.series[i].points, point{float64(rate), cost.median, cost.low, cost.high})
			}
			s.rows = append(s.rows, cells)
			found.behind = append(found.behind, slowerAt(rate, kinds, each)...)
		}
		found.sheets, found.plots = []sheet{s}, []plot{plotted}
		return found, nil
	}}
}

// slowerAt lists where an id of a peer takes less time than an id of ours, for layouts
// that have room for the rate. each has the costs of each source, one for each round.
func slowerAt(rate int, sources []source, each [][]float64) (list []string) {
	for i, ours := range sources {
		if !ours.ours || !ours.hasRoom(rate) {
			continue
		}
		for j, peer := range sources {
			if peer.ours || !peer.hasRoom(rate) {
				continue
			}
			if r := quotients(each[i], each[j]); r.low > 1 {
				list = append(list, because(fmt.Sprintf("%s ids a millisecond: an id of %s takes %s of one of %s", commas(int64(rate)), ours.name, r.format("%.2f", 1), peer.name),
					fmt.Sprintf("After a pause, a call fetches its code and data into the caches again. In another program the ratio is another one: “An id after a pause” has the median of %d.", placements)))
			}
		}
	}
	return list
}

// quotients divides each value of a by the value of b from the same round.
func quotients(a, b []float64) spread {
	list := make([]float64, len(a))
	for i := range list {
		list[i] = a[i] / b[i]
	}
	return spreadOf(list)
}

// paced generates rate ids every millisecond for d, and returns the time per id in
// nanoseconds.
func paced(s source, rate int, d time.Duration) (float64, error) {
	if !s.hasRoom(rate) {
		if err := s.exhaust(); err != nil {
			return 0, err
		}
	}
	return draw.Paced(s.draw, rate, d)
}

// cores measures how the cost of an id changes with the number of goroutines, from one
// to more than there are cores. Sources whose layout limits their rate are left out.
func cores(all []source) study {
	list := []source{{name: "clock and atomic add", draw: workload(draw.ClockAndAdd())}}
	for _, s := range all {
		if s.limit == 0 {
			list = append(list, s)
		}
	}
	return study{title: "Cost of an id on several cores", measure: func(d time.Duration) (found findings, err error) {
		all := runtime.GOMAXPROCS(0)
		defer runtime.GOMAXPROCS(all)
		crowds := growing(all, 64)
		s := sheet{
			title: "Cost of an id on several cores",
			note: fmt.Sprintf("The table shows the time divided by the number of ids that all goroutines made. In brackets you find the ratio to the yardstick, with its quartiles. "+
				"This machine has cores for only %d goroutines.", all),
			columns: []string{"goroutines", "cores"},
		}
		p := plot{
			name: "cores", title: "Cost of an id on several cores",
			x:     axis{title: "goroutines", log: true, ticks: floats(crowds)},
			y:     axis{title: "ns an id"},
			marks: []mark{{float64(all), "all cores"}},
		}
		for i, source := range list {
			name := source.name
			if i == 0 {
				name += ", the yardstick"
			}
			s.columns = append(s.columns, name)
			p.series = append(p.series, series{name: source.name, ours: source.ours})
		}
		for _, goroutines := range crowds {
			runtime.GOMAXPROCS(min(goroutines, all))
			sides, pieces := make([]workload, len(list)), make([]int, len(list))
			for i, source := range list {
				sides[i] = source.draw.among(goroutines)
				if pieces[i], err = fit(sides[i], min(d/10, 10*time.Millisecond)); err != nil {
					return found, fmt.Errorf("%s: %w", source.name, err)
				}
			}
			turns, err := race(sides, pieces, lasting(d))
			if err != nil {
				return found, err
			}
			cells := []string{fmt.Sprint(goroutines), fmt.Sprint(min(goroutines, all))}
			for i := range list {
				cost := costs(turns[i])
				cell := nanos(cost.median)
				if i > 0 {
					cell += " (" + ratios(turns[i], turns[0]).between() + ")"
				}
				cells = append(cells, cell)
				p.series[i].points = append(p.series[i].points, point{float64(goroutines), cost.median, cost.low, cost.high})
				if r := ratios(turns[i], turns[1]); i > 1 && r.high < 1 {
					found.behind = append(found.behind, fmt.Sprintf("%s: an id of %s takes %s of one of ours", crowd(goroutines), list[i].name, r.format("%.2f", 1)))
				}
			}
			s.rows = append(s.rows, cells)
		}
		found.sheets, found.plots = []sheet{s}, []plot{p}
		return found, nil
	}}
}

// growing returns the powers of two up to last, along with the number of cores.
func growing(cores, last int) []int {
	list := []int{cores}
	for n := 1; n <= last; n *= 2 {
		list = append(list, n)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func floats(list []int) (fs []float64) {
	for _, n := range list {
		fs = append(fs, float64(n))
	}
	return fs
}
