//go:build matrix && unix

package chaos

import (
	"os"
	"testing"
)

// TestMatrixChaos is the long chaos test, on each store of the run.
func TestMatrixChaos(t *testing.T) {
	if os.Getenv("SNOWKEY_CHAOS") == "" {
		t.Setenv("SNOWKEY_CHAOS", "3m")
	}
	TestChaos(t)
}
