package dbtest

// WithCommand is like [Killable], for a test that needs to start the server with other
// options or in another environment. The function change is given the server's
// directory and the command line that Killable would use, and returns the command line
// to run instead.
func WithCommand(t TB, dialect string, change func(dir string, command []string) []string) (DB, *Process) {
	t.Helper()
	requireWanted(t, dialect)
	e, err := engineOf(dialect)
	if err != nil {
		t.Fatalf("%v", err)
	}
	e.command = change
	return killable(t, e)
}
