// Package errtest ends a test when a call that must not fail returns an error. Package
// dbtest has the same functions, which are used by tests in modules that depend on it.
package errtest

// T is the part of testing.TB that this package needs, so that it does not import testing.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Must returns the value of a call that must not fail: file := errtest.Must(os.Open(name))(t).
func Must[V any](v V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		NoError(t, err)
		return v
	}
}

// NoError ends the test if there is an error.
func NoError(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}
