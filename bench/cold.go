package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// placements is how many programs measure an id after a pause. See the comment of
// bench/internal/cold.
const placements = 15

// coldWhy is what we found when we looked for the reason.
const coldWhy = "After a pause, a call fetches its code into the caches again. Next has\n" +
	"  about 600 bytes of code, and bwmarrin's Generate has 326: Next also checks the bound of the lease, how far ids may be ahead of the clock, and whether the\n" +
	"  wall clock is due. Where a call fetches more code, the ratio grows. With a part of Next in a second function, it was 1.19, 1.10 and 1.10."

// cold measures an id after a pause of about a millisecond, in which the caches were
// used for other things. This is how most programs call a generator, because they do
// something with each id.
func cold() topic {
	t := topic{
		name:  "Cold",
		title: "An id after a pause, one goroutine",
		note: "In every millisecond, the goroutine asks for this many ids and then sleeps. The clock has to be read in any case, so that reading it and an atomic add\n" +
			fmt.Sprintf("  are the lowest possible cost. Since the ratio depends on where code and data are in memory, %d programs measure it, each with another order\n", placements) +
			"  of functions and objects. The ratio is the median of theirs, and so are the quartiles. " + coldWhy,
	}
	for _, rate := range []int{1, 4, 16} {
		t.trials = append(t.trials, trial{
			name:  fmt.Sprintf("%d an ms, beside bwmarrin/snowflake", rate),
			alone: func(d time.Duration) ([]line, error) { return coldLines(rate, d) },
		})
	}
	return t
}

// coldLines compares with bwmarrin/snowflake and with reading the clock and an atomic add.
func coldLines(rate int, d time.Duration) (lines []line, err error) {
	dir, err := os.MkdirTemp("", "snowkey-cold-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var costs [3][]float64
	var beside [2][]float64 // the ratios
	for i := range max(int(min(d/(100*time.Millisecond), placements)), 1) {
		rounds, err := coldRounds(dir, i+1, rate, d*2/3)
		if err != nil {
			return nil, err
		}
		for k := range costs {
			costs[k] = append(costs[k], spreadOf(rounds[k]).median)
		}
		for k := range beside {
			beside[k] = append(beside[k], quotients(rounds[0], rounds[k+1]).median)
		}
	}
	for k, against := range []string{"bwmarrin/snowflake", "time.Since + atomic add"} {
		ratio := spreadOf(beside[k])
		l := line{
			name: fmt.Sprintf("%d an ms, beside %s", rate, against),
			cost: nanos(spreadOf(costs[0]).median), against: against, theirs: nanos(spreadOf(costs[k+1]).median),
			ratio: ratio.format("%.2f", 1),
		}
		if k == 0 {
			l.bar, l.verdict = "≤ 1", verdict(ratio.median <= 1)
			l.behind, l.why = ratio.low > 1, "See the note below the table."
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// coldRounds builds and runs the program, and returns the costs of its three sources.
func coldRounds(dir string, placement, rate int, d time.Duration) (costs [3][]float64, err error) {
	program := filepath.Join(dir, fmt.Sprint("cold", placement))
	build := exec.Command("go", "build", fmt.Sprint("-ldflags=-randlayout=", placement), "-o", program, "github.com/snowkey-go/snowkey/bench/internal/cold")
	if out, err := build.CombinedOutput(); err != nil {
		return costs, fmt.Errorf("%v: %w: %s", build, err, out)
	}
	run := exec.Command(program, fmt.Sprint(placement), fmt.Sprint(rate), d.String())
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		return costs, fmt.Errorf("%v: %w", run, err)
	}
	for text := range bytes.Lines(out) {
		var round [3]float64
		if _, err := fmt.Sscan(string(text), &round[0], &round[1], &round[2]); err != nil {
			return costs, fmt.Errorf("%v prints %q: %w", run, text, err)
		}
		for i := range costs {
			costs[i] = append(costs[i], round[i])
		}
	}
	return costs, nil
}
