package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/spf13/cobra"
)

// A reading is one way to read a text, using one form and one layout.
type reading struct {
	ID       string           `json:"id"`
	Form     string           `json:"form"`
	Layout   string           `json:"layout"`
	Time     time.Time        `json:"time"`
	Worker   int64            `json:"worker"`
	Rollback *int64           `json:"rollback,omitempty"`
	Sequence int64            `json:"sequence"`
	Fixed    map[string]int64 `json:"fixed,omitempty"`
	Sortable string           `json:"sortable,omitempty"`
	Above    bool             `json:"bitsAboveLayout,omitempty"` // the id has bits that don't fit into the layout

	id     int64
	fields []field
	epoch  time.Time
}

// A form is a way to write an id as text.
type form struct {
	name  string
	parse func(text string) (pk.ID, error)
}

const (
	decimal  = "decimal"
	sortable = "sortable"
)

// forms lists all forms. Without --form, only those that are tried are used, because
// nearly every text is valid in some of the others.
var forms = []form{
	{decimal, parseDecimal},
	{sortable, parseSortable},
	{"hex", pk.ParseHex},
	{"base58", pk.ParseBase58},
	{"base62", pk.ParseBase62},
	{"bwmarrin32", bwmarrin("ybndrfg8ejkmcpqxot1uwisza345h769")},
	{"bwmarrin36", bwmarrin("0123456789abcdefghijklmnopqrstuvwxyz")},
	{"bwmarrin58", bwmarrin("123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ")},
}

const tried = 2 // decimal and sortable

// formNames lists the forms for people.
func formNames() string {
	var names []string
	for _, f := range forms {
		names = append(names, f.name)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// parseDecimal accepts unsigned numbers as well, which layouts of 64 bits make.
func parseDecimal(text string) (pk.ID, error) {
	id, err := pk.Parse(text)
	if u, err2 := strconv.ParseUint(text, 10, 64); err != nil && err2 == nil && text[0] != '0' {
		return pk.ID(u), nil
	}
	return id, err
}

// parseSortable also accepts the text of a pk.Prefixed, whatever its prefix is.
func parseSortable(text string) (pk.ID, error) {
	id, err := pk.ParseSort(text[strings.LastIndexByte(text, '_')+1:])
	return id.ID(), err
}

// bwmarrin returns a parser for one of the alphabets of bwmarrin/snowflake, which writes
// numbers without leading zeros.
func bwmarrin(alphabet string) func(string) (pk.ID, error) {
	return func(text string) (pk.ID, error) {
		var n uint64
		for i := range len(text) {
			digit := strings.IndexByte(alphabet, text[i])
			if digit < 0 || len(text) > 1 && text[0] == alphabet[0] {
				return 0, fmt.Errorf("%.40q is not what bwmarrin/snowflake writes with the characters %s", text, alphabet)
			}
			high, low := bits.Mul64(n, uint64(len(alphabet)))
			if n = low + uint64(digit); high > 0 || n < low || n > math.MaxInt64 {
				return 0, fmt.Errorf("%.40q is above 9223372036854775807, the largest id", text)
			}
		}
		if text == "" {
			return 0, errors.New("the id is empty")
		}
		return pk.ID(n), nil
	}
}

func read(id int64, form, name string, l idgen.Layout) reading {
	p := l.Decode(id)
	r := reading{ID: strconv.FormatInt(id, 10), Form: form, Layout: name, Time: p.Time, Worker: p.Worker, Sequence: p.Sequence, Fixed: make(map[string]int64), id: id, fields: fieldsOf(l), epoch: l.Epoch()}
	for _, f := range r.fields {
		value := f.value(id)
		switch {
		case f.Fixed != nil:
			r.Fixed[f.Name] = value
		case f.Name == "rollback":
			r.Rollback = &value
		}
	}
	total := r.fields[0].High + 1
	r.Above = uint64(id)>>total != 0
	if total == 64 {
		r.ID = strconv.FormatUint(uint64(id), 10)
	}
	if id >= 0 {
		r.Sortable = pk.SortText(id).String()
	}
	return r
}

// plausible reports whether the id looks as if it had been made with this layout, which
// means after the layout's first day and after 2010, but no later than tomorrow.
func (r reading) plausible(now time.Time) bool {
	from := r.epoch.AddDate(0, 0, 1)
	if first := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC); from.Before(first) {
		from = first
	}
	return !r.Above && r.Time.After(from) && r.Time.Before(now.AddDate(0, 0, 1))
}

func (a *app) inspectCommand() *cobra.Command {
	var layout, only string
	cmd := &cobra.Command{
		Use:        "inspect [ID…]",
		SuggestFor: []string{"decode", "parse", "explain"},
		Short:      "Decode ids: time, worker number, sequence, and the bits",
		Long: `Inspect decodes ids. Without arguments it reads them from the standard input, one a line,
and prints a line for each. It reads decimal numbers, the sortable text of 13 characters
that package pk writes, with or without a prefix. If a text is valid in both forms, it
prints both readings, unless --form names one. Other forms have to be named: hex, base58
and base62 of package pk, and bwmarrin32, bwmarrin36 and bwmarrin58, which are the
Base32, Base36 and Base58 of bwmarrin/snowflake. Public ids can't be decoded. With --layout auto it prints every preset under which
the time of the id is plausible: after the preset's first day, and not later than tomorrow.`,
		Example: `  snowkey inspect 284061204176896001
  snowkey inspect 07WJG4C3HW001 --layout tsid
  snowkey inspect user_07W9G540PY001
  snowkey inspect 1541815603606036480 --layout auto
  snowkey inspect 4zzv4rZaYpk --form bwmarrin58 --layout twitter
  echo 284061204176896002 | snowkey inspect --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if only != "" && !slices.ContainsFunc(forms, func(f form) bool { return f.name == only }) {
				return &usageError{fmt.Sprintf("--form is %q; write %s", only, formNames())}
			}
			i := inspector{app: a, form: only, now: time.Now(), out: bufio.NewWriter(a.stdout), auto: layout == "auto", layouts: idgen.Presets()}
			if !i.auto {
				l, err := parseLayout(layout)
				if err != nil {
					return err
				}
				i.layouts = maps.All(map[string]idgen.Layout{nameOf(l): l})
			}
			return errors.Join(i.run(args), i.out.Flush())
		},
	}
	registerLayout(cmd, &layout, "default", layoutFlagUsage+", or auto")
	cmd.Flags().StringVar(&only, "form", "", "read ids only as "+formNames())
	return cmd
}

type inspector struct {
	*app
	layouts iter.Seq2[string, idgen.Layout] // by name
	auto    bool                            // whether only plausible readings count
	form    string
	now     time.Time
	out     *bufio.Writer
}

// run decodes the arguments, or the lines of the standard input if there are none.
func (i *inspector) run(args []string) error {
	if len(args) == 0 {
		return i.lines(i.stdin)
	}
	for n, text := range args {
		if n > 0 && !i.json {
			fmt.Fprintln(i.out)
		}
		if err := i.print(text, false); err != nil {
			return err
		}
	}
	return nil
}

// lines reads one id from each line. If there is something wrong with a line, it says
// so and continues with the next.
func (i *inspector) lines(in io.Reader) error {
	if terminal(in) {
		fmt.Fprintln(i.stderr, "reading ids from the terminal, one a line; end with Ctrl-D")
	}
	scanner := bufio.NewScanner(in)
	n, wrong := 0, 0
	for scanner.Scan() {
		n++
		text := strings.TrimSpace(scanner.Text())
		if text == "" {
			continue
		}
		if err := i.print(text, true); err != nil {
			wrong++
			fmt.Fprintf(i.stderr, "line %d: %v\n", n, err)
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("reading ids after line %d: %w", n, err)
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d lines are not ids", wrong, n)
	}
	return nil
}

// print prints all readings of a text, in the forms that are usual or only in --form.
func (i *inspector) print(text string, short bool) error {
	var wrong []error
	valid, printed := false, 0
	for n, f := range forms {
		if i.form != f.name && (i.form != "" || n >= tried) {
			continue
		}
		id, err := f.parse(text)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		valid = true
		for name, layout := range i.layouts {
			r := read(id.Int64(), f.name, name, layout)
			if i.auto && !r.plausible(i.now) {
				continue
			}
			if printed > 0 && !short && !i.json {
				fmt.Fprintln(i.out)
			}
			printed++
			switch {
			case i.json:
				err = writeLine(i.out, r)
			case short:
				err = i.line(r)
			default:
				i.draw(r)
			}
			if err != nil {
				return err
			}
		}
	}
	if !valid {
		return errors.Join(wrong...)
	}
	if printed == 0 {
		return fmt.Errorf("no preset has a plausible time for %s", text)
	}
	return nil
}

const milliseconds = "2006-01-02T15:04:05.000Z07:00"

// line prints a reading on a single line.
func (i *inspector) line(r reading) error {
	_, err := fmt.Fprintf(i.out, "%s\t%s\tworker %d\tsequence %d%s%s\n", r.ID, r.Time.Format(milliseconds), r.Worker, r.Sequence,
		when(i.auto, "\t"+r.Layout), when(r.Form != decimal, "\t"+r.Form))
	return err
}

// colors are the colours of the fields, starting with the highest field.
var colors = []string{"\x1b[36m", "\x1b[33m", "\x1b[32m", "\x1b[35m", "\x1b[34m"}

// draw prints everything that we know about a reading, including its bits.
func (i *inspector) draw(r reading) {
	fmt.Fprintf(i.out, "%s, read as %s in the layout %s\n", r.ID, r.Form, r.Layout)
	show := func(name string, value any) { fmt.Fprintf(i.out, "  %-10s  %v\n", name, value) }
	for _, f := range r.fields {
		if f.Name == "time" {
			show("time", r.Time.Format(time.RFC3339Nano))
		} else {
			show(f.Name, f.value(r.id))
		}
	}
	if r.Sortable != "" {
		show("sortable", r.Sortable)
	}
	if r.id > maxSafe || r.id < 0 {
		show("JavaScript", "rounds this number; pass it as a string")
	}
	if r.Above {
		show("note", "the number has bits that the layout does not have; they are left out above")
	}
	bits := fmt.Sprintf("%064b", uint64(r.id))
	top := r.fields[0].High + 1
	var line, labels strings.Builder
	add := func(text, label, color string) {
		width := max(len(text), len(label))
		if i.colored() && color != "" {
			fmt.Fprintf(&line, "%s%-*s\x1b[0m ", color, width, text)
		} else {
			fmt.Fprintf(&line, "%-*s ", width, text)
		}
		fmt.Fprintf(&labels, "%-*s ", width, label)
	}
	if top < 64 {
		add(bits[:64-top], "", "")
	}
	for n, f := range r.fields {
		add(bits[63-f.High:64-f.Low], f.Name, colors[n%len(colors)])
	}
	fmt.Fprintf(i.out, "\n  %s\n  %s\n", strings.TrimRight(line.String(), " "), strings.TrimRight(labels.String(), " "))
}
