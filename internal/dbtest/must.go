package dbtest

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
