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

// cold measures an id after a pause of about a millisecond, in which the system uses the
// caches for other things. This is how most programs call a generator, because they do
// something with each id.
func cold() topic {
	t := topic{
		name:  "Cold",
		title: "An id after a pause, one goroutine",
		note: "In every millisecond, the goroutine asks for this many ids and then sleeps. Since the ratio depends on where code and data are in memory,\n" +
			fmt.Sprintf("  %d programs measure it, each with another order of functions and objects. The ratio is the median of theirs, ± how far it may be\n", placements) +
			"  off in 95 of 100 runs, and the quartiles are theirs too. The bar is missed if the ratio is above it by more than that, and undecided if by less.\n" +
			"  Most of the cost is three places in memory that are no longer in the caches: the call's own data, the generator's, and the code.",
	}
	t.trials = []trial{{name: "an id after a pause", alone: coldLines}}
	return t
}

// coldLines compares with bwmarrin/snowflake.
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
		lines = append(lines, results[k].line(rate))
	}
	return lines, nil
}

// A coldResult has a figure of each program, which is the median of its rounds.
type coldResult struct {
	ours, theirs []float64 // the costs
	ratios       []float64
}

func (r *coldResult) line(rate int) line {
	ratio, off := spreadOf(r.ratios), uncertainty(r.ratios)
	return line{
		name: fmt.Sprintf("%d an ms", rate),
		cost: nanos(spreadOf(r.ours).median), against: "bwmarrin/snowflake", theirs: nanos(spreadOf(r.theirs).median),
		ratio: fmt.Sprintf("%.2f ± %.2f (%.2f–%.2f)", ratio.median, off, ratio.low, ratio.high),
		bar:   "≤ 1", verdict: coldVerdict(ratio.median, off),
		behind: ratio.low > 1, why: "See the note below the table.",
	}
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

// measure runs a program, which prints the costs of both sources in each round.
func (r *coldResult) measure(program string, placement, rate int, d time.Duration) error {
	run := exec.Command(program, fmt.Sprint(placement), fmt.Sprint(rate), d.String())
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		return fmt.Errorf("%v: %w", run, err)
	}
	var ours, theirs []float64
	for text := range bytes.Lines(out) {
		var our, their float64
		if _, err := fmt.Sscan(string(text), &our, &their); err != nil {
			return fmt.Errorf("%v prints %q: %w", run, text, err)
		}
		ours, theirs = append(ours, our), append(theirs, their)
	}
	r.ours = append(r.ours, spreadOf(ours).median)
	r.theirs = append(r.theirs, spreadOf(theirs).median)
	r.ratios = append(r.ratios, quotients(ours, theirs).median)
	return nil
}
