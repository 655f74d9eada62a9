package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// placements is how many programs measure an id after a pause. See the comment of
// bench/internal/cold. Half of their ratios differ from the median by more than 0.13, so
// that even the median of 150 programs differs by 0.03 from run to run.
const placements = 300

// coldRates are the ids that a program asks for in each millisecond.
var coldRates = []int{1, 4, 16}

// coldWhy is what we found when we looked for the reason.
const coldWhy = "Most of the cost is three places in memory that are no longer in the caches:\n" +
	"  the call's own data, the generator's, and the code. A function that only reads the clock and adds to the generator's line has 0.95 of bwmarrin's cost at 1 an\n" +
	"  ms, so no generator can be much faster. With a generator that needs one cache line more, the ratio was 1.15."

// cold measures an id after a pause of about a millisecond, in which the caches were
// used for other things. This is how most programs call a generator, because they do
// something with each id.
func cold() topic {
	t := topic{
		name:  "Cold",
		title: "An id after a pause, one goroutine",
		note: "In every millisecond, the goroutine asks for this many ids and then sleeps. The clock has to be read in any case, so that reading it and an atomic add\n" +
			fmt.Sprintf("  are the lowest possible cost. Since the ratio depends on where code and data are in memory, %d programs measure it, each with another order\n", placements) +
			"  of functions and objects. The ratio is the median of theirs, ± how far it may be off in 95 of 100 runs, and the quartiles are theirs too. The bar is missed\n" +
			"  if the ratio is above it by more than that, and undecided if by less. " + coldWhy,
	}
	t.trials = []trial{{name: "an id after a pause", alone: coldLines}}
	return t
}

// coldLines compares with bwmarrin/snowflake and with reading the clock and an atomic add.
func coldLines(d time.Duration) (lines []line, err error) {
	dir, err := os.MkdirTemp("", "snowkey-cold-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	results := make([]coldResult, len(coldRates))
	for i := range max(int(min(d/(5*time.Millisecond), placements)), 1) {
		program, err := coldProgram(dir, i+1)
		if err != nil {
			return nil, err
		}
		for k := range results {
			if err := results[k].measure(program, i+1, coldRates[k], d/10); err != nil {
				return nil, err
			}
		}
	}
	for k, rate := range coldRates {
		lines = append(lines, results[k].lines(rate)...)
	}
	return lines, nil
}

// A coldResult has a figure of each program, which is the median of its rounds.
type coldResult struct {
	costs  [3][]float64 // of the three sources
	beside [2][]float64 // the ratios of the first to the others
}

func (r *coldResult) lines(rate int) (lines []line) {
	for k, against := range []string{"bwmarrin/snowflake", "time.Since + atomic add"} {
		ratio, off := spreadOf(r.beside[k]), uncertainty(r.beside[k])
		l := line{
			name: fmt.Sprintf("%d an ms, beside %s", rate, against),
			cost: nanos(spreadOf(r.costs[0]).median), against: against, theirs: nanos(spreadOf(r.costs[k+1]).median),
			ratio: fmt.Sprintf("%.2f ± %.2f (%.2f–%.2f)", ratio.median, off, ratio.low, ratio.high),
		}
		if k == 0 {
			l.bar, l.verdict = "≤ 1", coldVerdict(ratio.median, off)
			l.behind, l.why = ratio.low > 1, "See the note below the table."
		}
		lines = append(lines, l)
	}
	return lines
}

// coldVerdict rounds as the line does.
func coldVerdict(ratio, off float64) string {
	above := math.Round(100*ratio) > 100
	if above && math.Round(100*(ratio-off)) <= 100 {
		return undecided
	}
	return verdict(!above)
}

// uncertainty returns how far the median of values may be from the true one, with a
// confidence of 95 %. For any distribution, the true median lies between the values whose
// ranks differ from the middle by 0.98 √n.
func uncertainty(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := float64(len(sorted))
	low, high := math.Floor(n/2-0.98*math.Sqrt(n)), math.Ceil(n/2+0.98*math.Sqrt(n))
	return (sorted[min(int(high), len(sorted)-1)] - sorted[max(int(low), 0)]) / 2
}

// coldProgram builds the program in one of its placements.
func coldProgram(dir string, placement int) (path string, err error) {
	path = filepath.Join(dir, "cold")
	build := exec.Command("go", "build", fmt.Sprint("-ldflags=-s -w -randlayout=", placement), "-o", path, "github.com/snowkey-go/snowkey/bench/internal/cold")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w: %s", build, err, out)
	}
	return path, nil
}

// measure runs a program, which prints the costs of its three sources in each round.
func (r *coldResult) measure(program string, placement, rate int, d time.Duration) error {
	run := exec.Command(program, fmt.Sprint(placement), fmt.Sprint(rate), d.String())
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		return fmt.Errorf("%v: %w", run, err)
	}
	var costs [3][]float64
	for text := range bytes.Lines(out) {
		var round [3]float64
		if _, err := fmt.Sscan(string(text), &round[0], &round[1], &round[2]); err != nil {
			return fmt.Errorf("%v prints %q: %w", run, text, err)
		}
		for i := range costs {
			costs[i] = append(costs[i], round[i])
		}
	}
	for i := range costs {
		r.costs[i] = append(r.costs[i], spreadOf(costs[i]).median)
	}
	for k := range r.beside {
		r.beside[k] = append(r.beside[k], quotients(costs[0], costs[k+1]).median)
	}
	return nil
}
