package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	checkRuns = 3
	allowed   = 1.10 // a ratio may be this many times that of the release
)

// figures has our cost divided by the yardstick's, for lines of the table. It leaves out
// lines that need a disk or a server, because these depend on the machine too much, and
// lines with several goroutines, because their ratios differ by 25 % between runs.
type figures map[string]float64

// checkRelease measures the table three times and compares the medians of the ratios with
// those in a file, which are of the last release. If update is set, it writes the file
// instead.
func checkRelease(w io.Writer, path string, update bool, only string, d time.Duration) (err error) {
	var release figures
	var on string
	if !update {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if on, release, err = parseRatios(string(text)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	p, err := openPools()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	kept.heap = make([]byte, 64<<20)
	runs := make([]figures, checkRuns)
	for i := range runs {
		fmt.Fprintf(os.Stderr, "measuring: run %d of %d\n", i+1, checkRuns)
		if runs[i], err = measureRatios([]topic{next(p), ceiling(p), batch(p), keys()}, only, d); err != nil {
			return err
		}
	}
	now := mediansOf(runs)
	if update {
		return os.WriteFile(path, []byte(now.text(machine())), 0o644)
	}
	if on != machine() {
		fmt.Fprintf(w, "The figures of the release are from another machine, %s.\n", on)
	}
	lost, compared := losses(release, now)
	if compared == 0 {
		return fmt.Errorf("%s has none of the lines that were measured; write it with make bench-check UPDATE=yes", path)
	}
	fmt.Fprintf(w, "compared %d of %d lines with the last release\n", compared, len(release))
	if len(lost) > 0 {
		return fmt.Errorf("%d of %d lines cost over %.0f %% more than in the last release:\n  %s",
			len(lost), compared, 100*(allowed-1), strings.Join(lost, "\n  "))
	}
	return nil
}

func measureRatios(topics []topic, only string, d time.Duration) (figures, error) {
	list := figures{}
	for _, topic := range topics {
		for _, t := range topic.trials {
			name := topic.name + ", " + t.name + ", beside " + t.against
			if t.alone != nil || strings.HasSuffix(t.name, "goroutines") || !strings.Contains(name, only) {
				continue
			}
			c, err := compare(t.work, t.yardstick, t.pace, d*time.Duration(max(t.times, 1)))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			list[name] = result{t, c, 0}.ratio().median
		}
	}
	return list, nil
}

// mediansOf returns the median of each line that is in all runs.
func mediansOf(runs []figures) figures {
	list := figures{}
	for name := range runs[0] {
		var values []float64
		for _, run := range runs {
			if v, ok := run[name]; ok {
				values = append(values, v)
			}
		}
		if len(values) == len(runs) {
			list[name] = spreadOf(values).median
		}
	}
	return list
}

// losses lists the lines whose ratio is more than allowed above that of the release. It
// also returns how many lines both have.
func losses(release, now figures) (lost []string, compared int) {
	for _, name := range slices.Sorted(maps.Keys(release)) {
		before, after := release[name], now[name]
		if after == 0 {
			continue
		}
		compared++
		if after > before*allowed {
			lost = append(lost, fmt.Sprintf("%s: %.4g, and %.4g in the release (%+.0f %%)", name, after, before, 100*(after/before-1)))
		}
	}
	return lost, compared
}

// text is the content of the file: the machine in the first line, and a line for each ratio.
func (r figures) text(machine string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by make bench-check UPDATE=yes on %s\n", machine)
	for _, name := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintf(&b, "%.4g\t%s\n", r[name], name)
	}
	return b.String()
}

// parseRatios is the inverse of text.
func parseRatios(text string) (machine string, r figures, err error) {
	r = figures{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			if _, on, ok := strings.Cut(comment, " on "); ok {
				machine = on
			}
			continue
		}
		number, name, ok := strings.Cut(line, "\t")
		ratio, err := strconv.ParseFloat(number, 64)
		if !ok || err != nil || !(ratio > 0) {
			return "", nil, fmt.Errorf("line %d is %q, want a ratio, a tab and the name of a line", i+1, line)
		}
		r[name] = ratio
	}
	return machine, r, nil
}
