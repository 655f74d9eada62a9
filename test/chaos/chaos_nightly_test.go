//go:build nightly && unix

package chaos

import (
	"os"
	"testing"
)

// TestNightlyChaos is the long chaos test, on each store of the run.
func TestNightlyChaos(t *testing.T) {
	if os.Getenv("SNOWKEY_CHAOS") == "" {
		t.Setenv("SNOWKEY_CHAOS", "3m")
	}
	TestChaos(t)
}
