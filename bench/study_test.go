package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestPage runs every study as briefly as possible, and writes the page.
func TestPage(t *testing.T) {
	found := dbtest.Must(measureStudies(t.TempDir(), 1, "", time.Millisecond))(t)
	r := report{each: time.Millisecond, rows: 10_000, found: found, table: table{parts: []part{
		{topic{title: "A topic"}, []line{{name: "a|b", cost: "1 ns", verdict: missed}}},
		{topic{name: "Keys"}, []line{{name: "MarshalJSON", against: "xid's", ratio: "1.2", behind: true, why: "Because."}}},
	}}}
	path := filepath.Join(t.TempDir(), "page.md")
	dbtest.NoError(t, r.write(path))
	content := dbtest.Must(os.ReadFile(path))(t)
	page := string(content)
	for _, want := range []string{"### A topic", "\n## Cost of an id on several cores\n", `| a\|b | 1 ns |`, "short run", machine(), "1 of 1 bars are MISSED",
		"MarshalJSON compared with xid's: 1.2. Because."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, f := range found {
		for _, s := range f.sheets {
			if len(s.rows) == 0 && !strings.Contains(s.note, "Not measured") {
				t.Errorf("%s: no rows", s.title)
			}
			for _, row := range s.rows {
				if len(row) != len(s.columns) {
					t.Errorf("%s: %d cells for %d columns: %q", s.title, len(row), len(s.columns), row)
				}
			}
		}
		for _, p := range f.plots {
			file := "page-" + p.name + ".svg"
			if !strings.Contains(page, "]("+file+")") {
				t.Errorf("the page does not show %s", file)
			}
			drawn, err := os.ReadFile(filepath.Join(filepath.Dir(path), file))
			if err != nil || bytes.Contains(drawn, []byte("NaN")) || bytes.Contains(drawn, []byte("Inf")) {
				t.Errorf("%s has a line that leads nowhere: %v", file, err)
			}
		}
	}
	t.Log(page)
}

func TestHistogram(t *testing.T) {
	var h, other histogram
	for i := range 1000 {
		side := &h
		if i%2 == 0 {
			side = &other
		}
		side.add(time.Duration(i+1) * time.Microsecond)
	}
	h.merge(&other)
	for share, want := range map[float64]float64{0.001: 1e3, 0.5: 500e3, 0.99: 990e3, 0.999: 999e3, 1: 1000e3} {
		if got := h.within(share); math.Abs(got/want-1) > 1./30 {
			t.Errorf("%g of the calls are within %g ns, want %g", share, got, want)
		}
	}
	if h.calls != 1000 || h.longest != time.Millisecond {
		t.Errorf("%d calls, the longest %v; want 1000 and 1ms", h.calls, h.longest)
	}
	for d := time.Duration(1); d > 0; d *= 3 {
		if one := new(histogram); true {
			one.add(d)
			if got := one.within(1); got != float64(d) {
				t.Errorf("a call of %d ns is counted as one of %g", d, got)
			}
		}
	}
}
