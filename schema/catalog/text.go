package catalog

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// WriteText writes the report for people to read, starting with the most severe findings
// for each key. Control characters in names are escaped like in a Go string, to keep them
// from messing with your terminal.
func (r Report) WriteText(w io.Writer) error {
	s := server{database.Server{Dialect: r.Dialect, Version: r.Version}}
	var b bytes.Buffer
	line := func(format string, args ...any) {
		b.WriteString(database.Printable(fmt.Sprintf(format, args...)) + "\n")
	}
	all, count := r.Findings, make(map[Severity]int)
	for _, k := range r.Keys {
		all = slices.Concat(all, k.Findings)
	}
	for _, f := range all {
		count[f.Severity]++
	}
	line("%s %s, %s: %s; %s, %s, %s", r.Dialect, r.Version, s.List(r.Schemas), database.Plural(len(r.Keys), "auto-increment key"),
		database.Plural(count[Blocker], "blocker"), database.Plural(count[Warning], "warning"), database.Plural(count[Note], "note"))
	findings := func(all []Finding) {
		for _, f := range slices.SortedStableFunc(slices.Values(all), func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) }) {
			line("  %-8s %s [%s]", f.Severity, f.Text, f.Kind)
			line("           → %s", f.Remedy)
		}
	}
	findings(r.Findings)
	for _, k := range r.Keys {
		line("")
		line("%s  %s, %s", s.column(k.Column), k.Column.Type, k.Mechanism)
		line("  counter  %s", s.counter(k.Counter))
		for _, name := range k.Inheritors {
			line("  also     %s", s.name(name))
		}
		for _, fk := range k.ForeignKeys {
			line("  child    %s  %s%s", s.column(fk.Child), fk.Child.Type, s.detail(k, fk))
		}
		for _, view := range k.Views {
			line("  view     %s", s.name(view))
		}
		for _, trigger := range k.Triggers {
			line("  trigger  %s", strings.TrimSpace(s.Quote(trigger.Name)+" "+trigger.When))
		}
		findings(k.Findings)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (s server) counter(c Counter) string {
	var parts []string
	if c.Sequence != (Name{}) {
		parts = append(parts, s.name(c.Sequence))
	}
	if c.Next == "" {
		return strings.Join(append(parts, "not known"), ", ")
	}
	parts = append(parts, "next "+c.Next)
	if c.End != "" {
		parts = append(parts, fmt.Sprintf("up to %s (%.1f %% used)", c.End, c.Used*100))
	}
	return strings.Join(parts, ", ")
}

// detail describes anything unusual about a foreign key.
func (s server) detail(k Key, fk ForeignKey) string {
	var details []string
	if len(fk.Columns) > 0 {
		details = append(details, "of ("+s.List(fk.Columns)+")")
	}
	if !fk.Parent.same(k.Column) {
		details = append(details, "through "+s.column(fk.Parent))
	}
	if fk.Undeclared {
		details = append(details, "no foreign key")
	}
	return strings.Join(append([]string{""}, details...), ", ")
}
