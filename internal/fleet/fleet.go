// Package fleet reads the file that assigns a range of worker numbers to each service in
// a fleet. Programs use it through snowkey.Config.ForService.
package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
)

// Spare is the name of ranges that no service has yet.
const Spare = "spare"

// A Fleet is the content of a file.
type Fleet struct {
	Layout idgen.Layout // of all services
	Ranges []Range      // in the order of their worker numbers, which they cover without a gap
}

// A Range is the worker numbers of a service, or a spare range.
type Range struct {
	Service string `json:"service"`
	First   int64  `json:"first"`
	Last    int64  `json:"last"` // included
	Spare   bool   `json:"spare,omitempty"`
	line    int
}

func (r Range) String() string { return fmt.Sprintf("%d to %d", r.First, r.Last) }

// Parse reads the text of a file.
func Parse(text string) (Fleet, error) {
	f := Fleet{Layout: idgen.DefaultLayout()}
	lines, layoutLine := 0, 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		lines++
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "layout":
			if layoutLine > 0 {
				return Fleet{}, wrong(lines, "", fmt.Sprintf("is a second layout, after that in line %d; all services have one layout", layoutLine))
			}
			var err error
			if f.Layout, err = idgen.ParseLayout(strings.Join(words[1:], " ")); err != nil {
				return Fleet{}, wrong(lines, "", "has no layout as snowkey layout prints it: "+err.Error())
			}
			layoutLine = lines
		default:
			r, err := parseRange(words)
			r.line = lines
			if err != "" {
				return Fleet{}, wrong(lines, r.Service, err)
			}
			f.Ranges = append(f.Ranges, r)
		}
	}
	return f, f.check()
}

// wrong returns an error about the file, a line of it if line is not 0, and a service if
// service is not "".
func wrong(line int, service, reason string) error {
	text := "snowkey: the file of the fleet: "
	if line > 0 {
		text += fmt.Sprintf("line %d: ", line)
	}
	if service != "" {
		text += fmt.Sprintf("%q ", service)
	}
	return errors.New(text + reason)
}

// parseRange reads the name of a service and its first and last worker number. The error
// is the reason, or "".
func parseRange(words []string) (r Range, err string) {
	r.Service, r.Spare = words[0], words[0] == Spare
	if len(words) != 3 {
		return r, fmt.Sprintf("has %d words; write a service, its first and its last worker number, such as orders 0 255", len(words))
	}
	for i, to := range []*int64{&r.First, &r.Last} {
		var bad error
		if *to, bad = strconv.ParseInt(words[i+1], 10, 64); bad != nil || *to < 0 {
			return r, fmt.Sprintf("has %q where a worker number is expected; write a number from 0 on", words[i+1])
		}
	}
	if r.Last < r.First {
		return r, fmt.Sprintf("ends before it begins, with %d after %d; write the smaller number first", r.Last, r.First)
	}
	return r, ""
}

// check puts the ranges in order and checks that each worker number of the layout is in
// exactly one of them, and each service in one line.
func (f Fleet) check() error {
	lines := make(map[string]int)
	for _, r := range f.Ranges {
		if line := lines[r.Service]; line > 0 && !r.Spare {
			return wrong(r.line, r.Service, fmt.Sprintf("has a second range, after that in line %d; give each service one range", line))
		}
		lines[r.Service] = r.line
	}
	slices.SortStableFunc(f.Ranges, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	workers, next, before := f.workers(), int64(0), Range{}
	for _, r := range f.Ranges {
		switch {
		case r.Last == 0 && workers > 1 && !r.Spare:
			return wrong(r.line, r.Service, "has only the worker number 0, which snowkey.Config can't express; give it two or more, or another one")
		case r.Last >= workers:
			return wrong(r.line, r.Service, fmt.Sprintf("has the worker numbers %v, and the layout has 0 to %d; end the range there, or give the file a layout with a wider worker field", r, workers-1))
		case r.First < next:
			first, second := before, r
			if second.line < first.line {
				first, second = r, before
			}
			return wrong(second.line, second.Service, fmt.Sprintf("has the worker numbers %v, and %q in line %d has %v; both have %d to %d, so they could make the same id", second, first.Service, first.line, first, r.First, min(r.Last, before.Last)))
		case r.First > next:
			return wrong(r.line, r.Service, fmt.Sprintf("begins at worker number %d, and %d to %d are in no range; correct a number, or add a line: %s %d %d", r.First, next, r.First-1, Spare, next, r.First-1))
		}
		next, before = r.Last+1, r
	}
	if next < workers {
		return wrong(0, "", fmt.Sprintf("the worker numbers %d to %d of the layout are in no range; correct a number, or add a line: %s %d %d", next, workers-1, Spare, next, workers-1))
	}
	return nil
}

// workers returns how many worker numbers the layout has.
func (f Fleet) workers() int64 {
	for _, field := range f.Layout.Fields() {
		if field.Name == "worker" && !field.Fixed {
			return 1 << field.Bits
		}
	}
	return 1
}

// Find returns the range of a service.
func (f Fleet) Find(service string) (Range, error) {
	var names []string // for the error
	for _, r := range f.Ranges {
		switch {
		case r.Spare:
		case r.Service == service:
			return r, nil
		default:
			names = append(names, strconv.Quote(r.Service))
		}
	}
	const most = 20
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return Range{}, wrong(0, service, fmt.Sprintf("is not one of the services in the file, which are %s; correct the name, or give it one of the spare ranges",
		cmp.Or(strings.Join(names, ", "), "none")))
}

// Owner returns the range that a worker number is in.
func (f Fleet) Owner(worker int64) (r Range, ok bool) {
	i := slices.IndexFunc(f.Ranges, func(r Range) bool { return r.First <= worker && worker <= r.Last })
	if i < 0 {
		return Range{}, false
	}
	return f.Ranges[i], true
}
