package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLosses compares figures that lose 11 % and 9 %.
func TestLosses(t *testing.T) {
	release := figures{"nine": 2, "eleven": 2, "faster": 2, "gone": 2}
	now := figures{"nine": 2 * 1.09, "eleven": 2 * 1.11, "faster": 1, "new": 9}
	lost, compared := losses(release, now)
	if len(lost) != 1 || !strings.HasPrefix(lost[0], "eleven: 2.22, and 2 in the release (+11 %)") || compared != 3 {
		t.Errorf("losses = %q of %d lines, want that of eleven of 3", lost, compared)
	}
}

// TestMedians checks that one slow run of three does not count.
func TestMedians(t *testing.T) {
	got := mediansOf([]figures{{"a": 1, "b": 1}, {"a": 9, "b": 2}, {"a": 1.5}})
	if want := (figures{"a": 1.5}); !maps.Equal(got, want) {
		t.Errorf("mediansOf = %v, want %v", got, want)
	}
}

func TestRatiosText(t *testing.T) {
	want := figures{"Next, one goroutine, beside x": 1.25, "Keys": 0.5}
	on, got, err := parseRatios(want.text("a machine, 2 CPUs"))
	if err != nil || on != "a machine, 2 CPUs" || !maps.Equal(got, want) {
		t.Errorf("parseRatios = %q, %v, %v", on, got, err)
	}
	for _, bad := range []string{"", "1.5", "x\tNext", "0\tNext", "-1\tNext", "NaN\tNext"} {
		if _, got, err := parseRatios(bad); err == nil {
			t.Errorf("parseRatios(%q) = %v, want an error", bad, got)
		}
	}
}

// TestCheck runs the command as briefly as possible: it writes a file, fails if the
// file says that the release was a hundred times as fast, and passes if it was slower.
func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "release.txt")
	const only, d = "MarshalText, beside AppendInt", time.Millisecond
	if err := checkRelease(io.Discard, path, false, only, d); err == nil {
		t.Error("check passes without a file")
	}
	if err := checkRelease(io.Discard, path, true, only, d); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, written, err := parseRatios(string(text))
	if err != nil || len(written) == 0 {
		t.Fatalf("check wrote %q", text)
	}
	for _, tt := range []struct {
		factor float64
		lost   bool
	}{{0.01, true}, {100, false}} {
		release := figures{}
		for name, ratio := range written {
			release[name] = ratio * tt.factor
		}
		if err := os.WriteFile(path, []byte(release.text("elsewhere")), 0o644); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := checkRelease(&out, path, false, only, d); (err != nil) != tt.lost || !strings.Contains(out.String(), "another machine, elsewhere") {
			t.Errorf("with %v of the figures, check = %v and prints %q", tt.factor, err, &out)
		}
	}
	if err := os.WriteFile(path, []byte("1\tanother line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := checkRelease(io.Discard, path, false, only, d); err == nil || !strings.Contains(err.Error(), "none of the lines") {
		t.Errorf("with no line to compare, check = %v", err)
	}
}
