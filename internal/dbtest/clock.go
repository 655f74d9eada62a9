package dbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Clock is the clock of a server, as set by libfaketime. Note that it can be set to
// another time, but always runs at its usual speed.
type Clock struct{ file string }

// Clocked is like [Killable], for a test that sets the server's clock.
func Clocked(t TB, dialect string) (DB, *Process, *Clock) {
	t.Helper()
	requireWanted(t, dialect)
	clock, underClock := newClock(t, "")
	db, process := WithCommand(t, dialect, underClock)
	return db, process, clock
}

// newClock returns a clock, and a function that makes a server's command use it. Each
// clock is for one server. The server also loads preload, if that isn't empty.
func newClock(t TB, preload string) (clock *Clock, under func(dir string, command []string) []string) {
	t.Helper()
	var library string
	Obtain(t, "libfaketime", "libfaketimeMT.so.1", func() bool { library = faketime(); return library != "" })
	clock = &Clock{}
	return clock, func(dir string, command []string) []string {
		clock.file = filepath.Join(dir, "clock")
		return append([]string{
			"env", "LD_PRELOAD=" + library + " " + preload, "FAKETIME_TIMESTAMP_FILE=" + clock.file,
			"FAKETIME_NO_CACHE=1", "DONT_FAKE_MONOTONIC=1",
			"FAKETIME_FORCE_MONOTONIC_FIX=0", // a workaround for older C libraries, with which the waiting threads of MySQL never sleep
		}, command...)
	}
}

// Set moves the clock ahead of the clock of this host, or behind it if by is negative.
func (c *Clock) Set(by time.Duration) error {
	// The rename is atomic, so the server can't read a half-written offset.
	next := c.file + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+.3f\n", by.Seconds()), 0o644); err != nil {
		return err
	}
	return os.Rename(next, c.file)
}

// faketime returns the path of libfaketime's variant for multithreaded programs, or an
// empty string if this machine doesn't have it.
func faketime() string {
	fetched := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	for _, dir := range append([]string{"/usr/lib/*"}, fetched...) {
		if paths, _ := filepath.Glob(filepath.Join(dir, "faketime", "libfaketimeMT.so.1")); len(paths) > 0 {
			return paths[0]
		}
	}
	return ""
}
