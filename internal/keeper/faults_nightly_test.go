//go:build nightly

package keeper_test

import (
	"fmt"
	"testing"
)

// TestNightlyGrantsAreDisjointUnderFaults has many more processes and runs.
func TestNightlyGrantsAreDisjointUnderFaults(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			for _, overlap := range runFaults(t, seed, []int{3, 8, 64}[seed%3]) {
				t.Error(overlap)
			}
		})
	}
}
