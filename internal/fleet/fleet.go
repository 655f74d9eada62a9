// Package fleet reads the file that gives each service of a fleet a range of worker
// numbers. Programs use it through the fields Fleet and Service of snowkey.Config.
package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease"
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
	Service     string
	First, Last int64 // both included
	line        int
}

func (r Range) String() string { return fmt.Sprintf("%d to %d", r.First, r.Last) }

// Parse reads the text of a file. The error is a [*lease.FleetError].
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
				return Fleet{}, &lease.FleetError{Line: lines, Reason: fmt.Sprintf("is a second layout, after that in line %d; all services have one layout", layoutLine)}
			}
			var err error
			if f.Layout, err = idgen.ParseLayout(strings.Join(words[1:], " ")); err != nil {
				return Fleet{}, &lease.FleetError{Line: lines, Reason: "has no layout as snowkey layout prints it: " + err.Error()}
			}
			layoutLine = lines
		default:
			r, err := parseRange(words)
			r.line = lines
			if err != "" {
				return Fleet{}, &lease.FleetError{Line: lines, Service: r.Service, Reason: err}
			}
			f.Ranges = append(f.Ranges, r)
		}
	}
	return f, f.check()
}

// parseRange reads the name of a service and its first and last worker number. The error
// is the reason, or "".
func parseRange(words []string) (r Range, err string) {
	r.Service = words[0]
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
		if line := lines[r.Service]; line > 0 && r.Service != Spare {
			return &lease.FleetError{Line: r.line, Service: r.Service, Other: r.Service, Reason: fmt.Sprintf("has a second range, after that in line %d; give each service one range", line)}
		}
		lines[r.Service] = r.line
	}
	slices.SortStableFunc(f.Ranges, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	workers, next, before := f.workers(), int64(0), Range{}
	for _, r := range f.Ranges {
		switch {
		case r.Last >= workers:
			return &lease.FleetError{Line: r.line, Service: r.Service, Reason: fmt.Sprintf("has the worker numbers %v, and the layout has 0 to %d; end the range there, or give the file a layout with a wider worker field", r, workers-1)}
		case r.First < next:
			first, second := before, r
			if second.line < first.line {
				first, second = r, before
			}
			return &lease.FleetError{Line: second.line, Service: second.Service, Other: first.Service,
				Reason: fmt.Sprintf("has the worker numbers %v, and %q in line %d has %v; both have %d to %d, so they could make the same id", second, first.Service, first.line, first, r.First, min(r.Last, before.Last))}
		case r.First > next:
			return &lease.FleetError{Line: r.line, Service: r.Service, Reason: fmt.Sprintf("begins at worker number %d, and %d to %d are in no range; correct a number, or add a line: %s %d %d", r.First, next, r.First-1, Spare, next, r.First-1)}
		}
		next, before = r.Last+1, r
	}
	if next < workers {
		return &lease.FleetError{Reason: fmt.Sprintf("the worker numbers %d to %d of the layout are in no range; correct a number, or add a line: %s %d %d", next, workers-1, Spare, next, workers-1)}
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

// Services returns the names of all services.
func (f Fleet) Services() (names []string) {
	for _, r := range f.Ranges {
		if r.Service != Spare {
			names = append(names, r.Service)
		}
	}
	return names
}

// Find returns the range of a service. The error is a [*lease.FleetError].
func (f Fleet) Find(service string) (Range, error) {
	i := slices.IndexFunc(f.Ranges, func(r Range) bool { return r.Service == service })
	if i < 0 || service == Spare {
		return Range{}, &lease.FleetError{Service: service, Reason: fmt.Sprintf("is not one of the services in the file, which are %s; correct the name, or give it one of the spare ranges", quoted(f.Services()))}
	}
	return f.Ranges[i], nil
}

// Owner returns the range that a worker number is in.
func (f Fleet) Owner(worker int64) (r Range, ok bool) {
	i := slices.IndexFunc(f.Ranges, func(r Range) bool { return r.First <= worker && worker <= r.Last })
	if i < 0 {
		return Range{}, false
	}
	return f.Ranges[i], true
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	const most = 20
	var all []string
	for _, name := range names[:min(len(names), most)] {
		all = append(all, strconv.Quote(name))
	}
	if len(names) > most {
		all = append(all, fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(all, ", ")
}
