// Package raced tells tests whether the race detector is on.
package raced

// Skip skips a test that has one goroutine, or counts allocations, while the race detector
// is on. The detector makes tests ten times as slow, finds nothing in such a test, and
// allocates memory itself.
func Skip(t interface {
	Helper()
	Skip(args ...any)
}) {
	t.Helper()
	if Enabled {
		t.Skip("not with the race detector")
	}
}
