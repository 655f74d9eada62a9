package dbtest

import (
	"fmt"
	"time"
)

// Must returns the value of a call that must not fail: tx := dbtest.Must(db.Begin())(t).
func Must[T any](v T, err error) func(TB) T {
	return func(t TB) T {
		t.Helper()
		NoError(t, err)
		return v
	}
}

// NoError ends the test if there is an error.
func NoError(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Await waits until something has happened. It ends the test after a minute.
func Await(t TB, what string, happened func() bool) {
	t.Helper()
	NoError(t, Within(time.Minute, func() error {
		if !happened() {
			return fmt.Errorf("waited a minute for %s", what)
		}
		return nil
	}))
}
