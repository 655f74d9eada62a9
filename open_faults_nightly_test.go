//go:build nightly

package snowkey_test

import "testing"

// TestNightlyIDsAreUniqueUnderFaults has many more runs.
func TestNightlyIDsAreUniqueUnderFaults(t *testing.T) { uniqueUnderFaults(t, 40) }
