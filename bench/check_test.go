package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
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

// TestCheck runs the command as briefly as possible: it writes a file, fails if the
// file says that the release was a hundred times as fast, and passes if it was slower.
func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "release.txt")
	const only, d = "MarshalText, beside AppendInt", time.Millisecond
	if err := checkRelease(io.Discard, path, false, only, d); err == nil {
		t.Error("check passes without a file")
	}
	dbtest.NoError(t, checkRelease(io.Discard, path, true, only, d))
	text := dbtest.Must(os.ReadFile(path))(t)
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
		dbtest.NoError(t, os.WriteFile(path, []byte(release.text("elsewhere")), 0o644))
		var out strings.Builder
		if err := checkRelease(&out, path, false, only, d); (err != nil) != tt.lost || !strings.Contains(out.String(), "another machine, elsewhere") {
			t.Errorf("with %v of the figures, check = %v and prints %q", tt.factor, err, &out)
		}
	}
	dbtest.NoError(t, os.WriteFile(path, []byte("1\tanother line\n"), 0o644))
	if err := checkRelease(io.Discard, path, false, only, d); err == nil || !strings.Contains(err.Error(), "none of the lines") {
		t.Errorf("with no line to compare, check = %v", err)
	}
}
