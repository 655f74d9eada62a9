package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// print writes a result as a table.
func (r result) print(out io.Writer) error {
	keys := "with foreign keys"
	if !r.foreignKeys {
		keys = "without foreign keys"
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\torders/s\tours is faster by\tquartiles\tbar\t\n")
	for n, w := range r.ways {
		var ratio, quartiles, bar string
		if n > 0 {
			faster := r.faster(n)
			ratio, quartiles = fmt.Sprintf("%.2f", faster.median), fmt.Sprintf("%.2f–%.2f", faster.low, faster.high)
			if w.bar > 0 {
				bar = fmt.Sprintf("≥ %.1f  %s", w.bar, verdict(faster.median >= w.bar))
			}
		}
		fmt.Fprintf(table, "%s\t%.0f\t%s\t%s\t%s\t\n", w.name, 1/r.each(n).Seconds(), ratio, quartiles, bar)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s, %d in a transaction, %s\n", r.title, r.orders, keys)
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}
