package fleet_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/fleet"
)

const good = "\ufeff# who has which worker numbers\r\n\n" +
	"search  640 640 # one process\n" +
	"orders\t0\t255\r\n" +
	"payments 256 511\n" +
	"spare 512 639\n" +
	"spare 641 1023"

func TestParse(t *testing.T) {
	f := errtest.Must(fleet.Parse(good))(t)
	var ranges []string
	for _, r := range f.Ranges {
		ranges = append(ranges, fmt.Sprintf("%s %v", r.Service, r))
	}
	if got, want := strings.Join(ranges, ", "), "orders 0 to 255, payments 256 to 511, spare 512 to 639, search 640 to 640, spare 641 to 1023"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	if got := f.Layout.String(); got != idgen.DefaultLayout().String() {
		t.Errorf("the layout is %s", got)
	}
	for service, want := range map[string]string{"orders": "0 to 255", "search": "640 to 640"} {
		if r, err := f.Find(service); err != nil || r.String() != want {
			t.Errorf("%s has %v (%v); want %s", service, r, err, want)
		}
	}
	for worker, want := range map[int64]string{0: "orders", 255: "orders", 256: "payments", 640: "search", 641: "spare", 1023: "spare", 1024: "", -1: ""} {
		if r, ok := f.Owner(worker); r.Service != want || ok != (want != "") {
			t.Errorf("worker number %d belongs to %v", worker, r)
		}
	}
}

func TestLayoutOfFile(t *testing.T) {
	f, err := fleet.Parse("layout " + idgen.JSSafe().String() + "\norders 0 1023\n")
	if err != nil || f.Layout.String() != idgen.JSSafe().String() {
		t.Errorf("the layout is %v: %v", f.Layout, err)
	}
	// A layout without a worker field has one worker number.
	one := errtest.Must(idgen.NewLayout(idgen.DefaultLayout().Epoch(), idgen.DefaultLayout().Unit(), idgen.Time(41), idgen.Fixed("worker", 4, 3), idgen.Sequence(12)))(t)
	errtest.Must(fleet.Parse("layout " + one.String() + "\norders 0 0\n"))(t)
}

// Each error must give the line, name the services on both sides, and say what to do.
func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		text           string
		line           int
		service, other string
		reason         []string
	}{
		"overlap":                {"orders 0 255\npayments 255 1023", 2, "payments", "orders", []string{"255 to 1023", "line 1", "0 to 255", "both have 255 to 255"}},
		"overlap, out of order":  {"payments 200 1023\norders 0 255", 2, "orders", "payments", []string{"both have 200 to 255"}},
		"inside another":         {"orders 0 1023\n\npayments 7 8", 3, "payments", "orders", []string{"both have 7 to 8"}},
		"the same range":         {"orders 0 1023\npayments 0 1023", 2, "payments", "orders", []string{"both have 0 to 1023"}},
		"overlap with a spare":   {"orders 0 512\nspare 512 1023", 2, "spare", "orders", []string{"both have 512 to 512"}},
		"two lines of a service": {"orders 0 511\norders 512 1023", 2, "orders", "orders", []string{"line 1", "one range"}},
		"gap":                    {"orders 0 255\npayments 257 1023", 2, "payments", "", []string{"256 to 256 are in no range", "spare 256 256"}},
		"gap at the start":       {"orders 1 1023", 1, "orders", "", []string{"spare 0 0"}},
		"gap at the end":         {"orders 0 1000", 0, "", "", []string{"spare 1001 1023"}},
		"empty":                  {"# nothing\n", 0, "", "", []string{"spare 0 1023"}},
		"beyond the layout":      {"orders 0 1024", 1, "orders", "", []string{"0 to 1024", "0 to 1023"}},
		"far beyond":             {"orders 0 9223372036854775807", 1, "orders", "", []string{"0 to 1023"}},
		"backwards":              {"orders 1023 0", 1, "orders", "", []string{"0 after 1023"}},
		"two words":              {"orders 0", 1, "orders", "", []string{"2 words"}},
		"four words":             {"orders 0 10 1023", 1, "orders", "", []string{"4 words"}},
		"a range with a dash":    {"orders 0-1023", 1, "orders", "", []string{"orders 0 255"}},
		"no number":              {"orders 0 1O23", 1, "orders", "", []string{`"1O23"`}},
		"negative":               {"orders -1 1023", 1, "orders", "", []string{`"-1"`}},
		"too large":              {"orders 0 9223372036854775808", 1, "orders", "", []string{"9223372036854775808"}},
		"bad layout":             {"layout default\norders 0 1023", 1, "", "", []string{"snowkey layout", `"default"`}},
		"only 0":                 {"orders 0 0\npayments 1 1023", 1, "orders", "", []string{"give it two or more"}},
		"two layouts":            {"layout " + idgen.JSSafe().String() + "\nlayout " + idgen.JSSafe().String(), 2, "", "", []string{"line 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fleet.Parse(tt.text)
			begin := "snowkey: the file of the fleet: "
			if tt.line > 0 {
				begin += fmt.Sprintf("line %d: ", tt.line)
			}
			if tt.service != "" {
				begin += strconv.Quote(tt.service) + " "
			}
			if err == nil || !strings.HasPrefix(err.Error(), begin) {
				t.Fatalf("%v; want %s", err, begin)
			}
			for _, want := range append(tt.reason, tt.other) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestFindErrors(t *testing.T) {
	f := errtest.Must(fleet.Parse(good))(t)
	for _, service := range []string{"Orders", "spare", "layout"} {
		_, err := f.Find(service)
		if err == nil || !strings.Contains(err.Error(), `"`+service+`" is not`) || !strings.Contains(err.Error(), `"orders", "payments", "search"`) {
			t.Errorf("%s: %v", service, err)
		}
	}
	if _, err := f.Find(""); err == nil || !strings.Contains(err.Error(), "is not one of the services") {
		t.Errorf("no service: %v", err)
	}
	var many strings.Builder
	for i := range 512 {
		fmt.Fprintf(&many, "service%d %d %d\n", i, 2*i, 2*i+1)
	}
	f = errtest.Must(fleet.Parse(many.String()))(t)
	if _, err := f.Find("x"); err == nil || !strings.Contains(err.Error(), `"service19", 492 more`) {
		t.Error(err)
	}
}

// FuzzParse checks that a file which is accepted gives each worker number to one range.
func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add("orders 0 255\npayments 255 1023")
	for _, layout := range idgen.Presets() {
		f.Add("layout " + layout.String() + "\norders 0 0")
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := fleet.Parse(text)
		if err != nil {
			return
		}
		next := int64(0)
		for _, r := range all.Ranges {
			if r.First != next || r.Last < r.First {
				t.Fatalf("%q: %v begins at %v; want %d", text, r.Service, r, next)
			}
			next = r.Last + 1
		}
	})
}
