package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A row is a user or a post in the form that the program prints.
type row struct {
	orm, kind string
	id        pk.ID
	text      string
	author    pk.ID // only set for posts
}

// printRows writes the rows as a table, which shows each key as a decimal number, as
// short text, and decoded into its fields.
func printRows(w io.Writer, layout idgen.Layout, rows []row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BY\tROW\tKEY\tSHORT\tMADE AT\tWORKER\tSEQUENCE\tAUTHOR")
	for _, r := range rows {
		parts := layout.Decode(r.id.Int64())
		author := ""
		if r.author != 0 {
			author = r.author.String()
		}
		fmt.Fprintf(table, "%s\t%s %s\t%d\t%v\t%s\t%d\t%d\t%s\n", r.orm, r.kind, r.text, r.id, pk.SortText(r.id),
			parts.Time.Format(time.StampMilli), parts.Worker, parts.Sequence, author)
	}
	return table.Flush()
}
