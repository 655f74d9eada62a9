package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/spf13/cobra"
)

// maxSafe is the largest integer that JavaScript can read without rounding.
const maxSafe = 1<<53 - 1

const layoutFlagUsage = "a preset, or a layout as snowkey layout prints it"

// parseLayout reads either the name of a preset or the text of a layout. In the latter,
// | and x are accepted for │ and ×, which are hard to type.
func parseLayout(text string) (idgen.Layout, error) {
	l, err := idgen.Preset(text)
	if strings.Contains(text, ":") {
		l, err = idgen.ParseLayout(strings.NewReplacer(" | ", " │ ", " x ", " × ").Replace(text))
	}
	if err != nil {
		return idgen.Layout{}, &usageError{err.Error()}
	}
	return l, nil
}

func presetNames() (names []string) {
	for name := range idgen.Presets() {
		names = append(names, name)
	}
	return names
}

// nameOf returns the name of a preset. For any other layout, it returns the text.
func nameOf(l idgen.Layout) string {
	for name, preset := range idgen.Presets() {
		if preset.String() == l.String() {
			return name
		}
	}
	return l.String()
}

// registerLayout adds the --layout flag.
func registerLayout(cmd *cobra.Command, text *string, value, usage string) {
	cmd.Flags().StringVar(text, "layout", value, usage)
	complete(cmd, "layout", presetNames()...)
}

// A drawing is the description of a layout.
type drawing struct {
	Name    string    `json:"name,omitempty"` // only set for presets
	Text    string    `json:"layout"`
	Fields  []field   `json:"fields"`
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`     // of the positive ids
	SafeEnd time.Time `json:"safeEnd"` // when the first ids may exceed 2^53-1
	Workers int64     `json:"workers"`
	// PerSecond is the number of ids that one worker can make in a second without
	// running ahead of the clock.
	PerSecond float64 `json:"idsPerSecondAndWorker"`
}

// A field is a field of a layout and its position. Bit 0 is the lowest bit of an id.
type field struct {
	Name  string `json:"name"`
	High  int    `json:"highBit"`
	Low   int    `json:"lowBit"`
	Fixed *int64 `json:"fixed,omitempty"`
}

// value returns the bits of the field in an id.
func (f field) value(id int64) int64 {
	return int64(uint64(id) >> f.Low & (1<<(f.High-f.Low+1) - 1))
}

func draw(l idgen.Layout) drawing {
	life := l.Lifetime()
	d := drawing{Text: l.String(), Fields: fieldsOf(l), Start: life.Start, End: life.End, SafeEnd: life.SafeEnd, Workers: 1}
	if name := nameOf(l); name != d.Text {
		d.Name = name
	}
	for _, f := range d.Fields {
		switch {
		case f.Fixed != nil:
		case f.Name == "worker":
			d.Workers = 1 << (f.High - f.Low + 1)
		case f.Name == "sequence":
			d.PerSecond = float64(int64(1)<<(f.High-f.Low+1)) / l.Unit().Seconds()
		}
	}
	return d
}

// fieldsOf returns the fields of a layout, along with their positions.
func fieldsOf(l idgen.Layout) (all []field) {
	low := 0
	for _, f := range slices.Backward(l.Fields()) {
		place := field{Name: f.Name, High: low + f.Bits - 1, Low: low}
		if f.Fixed {
			place.Fixed = &f.Value
		}
		low += f.Bits
		all = append(all, place)
	}
	slices.Reverse(all)
	return all
}

func (d drawing) write(w io.Writer) error {
	if d.Name != "" {
		fmt.Fprintf(w, "%s\n", d.Name)
	}
	fmt.Fprintf(w, "%s\n\n", d.Text)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range d.Fields {
		fmt.Fprintf(table, "  bits %d to %d\t%s\t%s\n", f.High, f.Low, f.Name, d.means(f))
	}
	table.Flush()
	safe := fmt.Sprintf("ids exceed 2^53-1 from %d on: JavaScript needs them as strings", d.SafeEnd.Year())
	switch {
	case d.SafeEnd.Equal(d.End):
		safe = "ids never exceed 2^53-1, the largest integer that JavaScript reads exactly"
	case d.SafeEnd.Equal(d.Start):
		safe = "all ids exceed 2^53-1: JavaScript needs them as strings"
	}
	_, err := fmt.Fprintf(w, "\n  %s\n", safe)
	return err
}

// means describes what can be represented by the bits of a field.
func (d drawing) means(f field) string {
	switch n := uint64(1) << (f.High - f.Low + 1); {
	case f.Fixed != nil:
		return fmt.Sprintf("always %d", *f.Fixed)
	case f.Name == "time":
		return fmt.Sprintf("from %s until %s", d.Start.Format(time.DateOnly), d.End.Format(time.DateOnly))
	case f.Name == "worker":
		return group(n) + " worker numbers"
	case f.Name == "sequence":
		return fmt.Sprintf("%s ids in each tick, which are %s a second from each worker", group(n), group(uint64(d.PerSecond)))
	default:
		return fmt.Sprintf("counts %s times that the clock was set back", group(n))
	}
}

// group formats a number with a comma every three digits.
func group(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func (a *app) layoutCommand() *cobra.Command {
	var sql sqlFlags
	cmd := &cobra.Command{
		Use:   "layout [preset|text]",
		Short: "Draw a layout, or print its SQL functions",
		Long: `Layout draws a layout: its bits, how long it lasts, and how many ids it makes.
Without an argument it lists the presets.

With --sql it prints the SQL of functions that read the time, the worker number and the
other fields of an id, and of two that turn a time into the smallest and the largest id.
SQLite has no such functions, so it gets queries. With --files the functions are written
as a migration for goose, golang-migrate or Atlas.`,
		Example: `  snowkey layout
  snowkey layout default
  snowkey layout '0:1 | time:42 x 1ms since 2026-01-01T00:00:00Z | worker:8 | sequence:13'
  snowkey layout --sql postgres
  snowkey layout --sql mysql jssafe --files functions --format goose`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &usageError{"layout takes one preset or one text in quotes"}
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions(presetNames(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case sql != sqlFlags{}:
				return a.layoutSQL(sql, args)
			case len(args) == 0:
				return a.listPresets()
			}
			l, err := parseLayout(args[0])
			if err != nil {
				return err
			}
			return a.write(a.stdout, draw(l), draw(l).write)
		},
	}
	sql.register(cmd)
	return cmd
}

func (a *app) listPresets() error {
	var all []drawing
	for _, layout := range idgen.Presets() {
		all = append(all, draw(layout))
	}
	return a.writeTable(all, func(w io.Writer) {
		for _, d := range all {
			fmt.Fprintf(w, "%s\tuntil %d\t%s\n", d.Name, d.End.Year(), d.Text)
		}
	})
}

func (a *app) rangeCommand() *cobra.Command {
	var from, to, layout string
	cmd := &cobra.Command{
		Use:   "range --from TIME --to TIME",
		Short: "Print the ids of a range of time, for a WHERE clause",
		Long: `Range prints the smallest and the largest id of a range of time. --from is part of the
range, and --to is not. A time is a day, such as 2026-11-23, or a time as in RFC 3339,
such as 2026-11-23T08:00:00+01:00. Days begin at midnight UTC.`,
		Example: `  snowkey range --from 2026-11-01 --to 2026-12-01
  snowkey range --from 2026-11-23T08:00:00+01:00 --to 2026-11-23T08:05:00+01:00 --layout jssafe`,
		RunE: func(*cobra.Command, []string) error {
			l, err := parseLayout(layout)
			if err != nil {
				return err
			}
			first, last, err := idRange(l, from, to)
			if err != nil {
				return err
			}
			from, to := strconv.FormatInt(first, 10), strconv.FormatInt(last, 10)
			return a.print(map[string]string{"from": from, "to": to}, "BETWEEN %s AND %s\n", from, to)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the first `time`")
	cmd.Flags().StringVar(&to, "to", "", "the `time` at which the range ends")
	registerLayout(cmd, &layout, "default", layoutFlagUsage)
	return cmd
}

// idRange returns the smallest and the largest id for the time from one time up to, but
// not including, another.
func idRange(l idgen.Layout, from, to string) (first, last int64, err error) {
	start, err := parseTime("from", from)
	if err != nil {
		return 0, 0, err
	}
	end, err := parseTime("to", to)
	if err != nil {
		return 0, 0, err
	}
	if !start.Before(end) {
		return 0, 0, &usageError{fmt.Sprintf("--from %s is not before --to %s", from, to)}
	}
	// A tick belongs to the range if that is where it begins.
	first, err = l.MinID(start.Add(l.Unit() - 1))
	if err != nil {
		return 0, 0, err
	}
	last, err = l.MaxID(end.Add(-1))
	if err == nil && first > last {
		err = fmt.Errorf("no tick of %v begins between %s and %s", l.Unit(), from, to)
	}
	return first, last, err
}

func parseTime(flag, text string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	t2, err2 := time.Parse(time.RFC3339Nano, text)
	if err == nil || err2 == nil {
		return cmp.Or(t, t2), nil
	}
	if text == "" {
		return time.Time{}, &usageError{"--from and --to are needed"}
	}
	return time.Time{}, &usageError{fmt.Sprintf("--%s is %q; write a time such as 2026-11-23 or 2026-11-23T08:00:00Z", flag, text)}
}
