package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

const (
	met       = "met"
	missed    = "MISSED"
	undecided = "undecided" // above the bar, but by no more than the ratio may be off
)

// A line is one line of the table, formatted and ready to print.
type line struct {
	name, cost, cpu, allocs string
	against, theirs         string
	ratio                   string
	bar, verdict            string
	behind                  bool   // the peer was cheaper in at least three quarters of the rounds
	why                     string // of the trial
}

func (l line) cells() [9]string {
	return [9]string{l.name, l.cost, l.cpu, l.allocs, l.against, l.theirs, l.ratio, l.bar, l.verdict}
}

var heading = line{
	cost: "cost", cpu: "CPU time", allocs: "allocs",
	against: "yardstick", theirs: "its cost", ratio: "ratio (quartiles)", bar: "bar",
}

// A table prints its lines in columns, grouped under the titles of their topics.
type table struct{ parts []part }

type part struct {
	topic topic
	lines []line
}

func (t table) print(w io.Writer) {
	var widths [9]int
	for _, p := range append(t.parts, part{lines: []line{heading}}) {
		for _, l := range p.lines {
			for i, cell := range l.cells() {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	show := func(l line) {
		var b strings.Builder
		for i, cell := range l.cells() {
			fmt.Fprintf(&b, "  %-*s", widths[i], cell)
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	show(heading)
	for _, p := range t.parts {
		fmt.Fprintf(w, "\n%s\n", p.topic.title)
		for _, l := range p.lines {
			show(l)
		}
		if p.topic.note != "" {
			fmt.Fprintf(w, "  %s\n", p.topic.note)
		}
	}
	fmt.Fprintf(w, "\n%s\n", t.summary())
}

// summary says how many bars were met, and lists those that weren't.
func (t table) summary() string {
	var bars int
	var misses, undecideds []string
	for _, p := range t.parts {
		for _, l := range p.lines {
			switch l.verdict {
			case missed:
				misses = append(misses, fmt.Sprintf("  %s, %s", p.topic.name, l.name))
			case undecided:
				undecideds = append(undecideds, fmt.Sprintf("  %s, %s: %s, which is above the bar, but by no more than it may be off", p.topic.name, l.name, l.ratio))
			case met:
			default:
				continue
			}
			bars++
		}
	}
	if len(undecideds) == 0 {
		return summarize(bars, misses)
	}
	return fmt.Sprintf("%d of %d bars are MISSED, and %d are undecided:\n%s", len(misses), bars, len(undecideds), strings.Join(append(misses, undecideds...), "\n"))
}

func summarize(bars int, misses []string) string {
	if len(misses) == 0 {
		return fmt.Sprintf("All %d bars are met.", bars)
	}
	return fmt.Sprintf("%d of %d bars are MISSED:\n%s", len(misses), bars, strings.Join(misses, "\n"))
}

func verdict(isMet bool) string {
	if isMet {
		return met
	}
	return missed
}

// format prints the median followed by the quartiles in brackets, all multiplied by
// scale.
func (s spread) format(verb string, scale float64) string {
	return fmt.Sprintf(verb+" ("+verb+"–"+verb+")", scale*s.median, scale*s.low, scale*s.high)
}

// nanos prints a time with three significant digits.
func nanos(ns float64) string {
	switch size := math.Abs(ns); {
	case size >= 999.5e3:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	case size >= 999.5:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	default:
		return fmt.Sprintf("%.3g ns", ns)
	}
}
