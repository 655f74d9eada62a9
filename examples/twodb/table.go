package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/snowkey-go/snowkey/idgen"
)

// clock is the format in which we print times.
const clock = "15:04:05.000"

// printEvents writes events as a table, and shows the fields of their keys.
func printEvents(w io.Writer, layout idgen.Layout, events []event) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tMADE AT\tWORKER\tIN\tEVENT")
	for _, e := range events {
		parts := layout.Decode(e.key.Int64())
		fmt.Fprintf(table, "%d\t%s\t%d\t%v\t%s\n", e.key, parts.Time.Format(clock), parts.Worker, e.journal, e.name)
	}
	return table.Flush()
}
