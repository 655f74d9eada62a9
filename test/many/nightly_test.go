//go:build nightly

package many

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// TestNightlyManyProcesses runs 5,000 processes of 200 ms in each way, in a namespace of 128
// worker numbers. It prints the table of docs/many-processes.md. Set SNOWKEY_MANY to run
// another number of processes.
func TestNightlyManyProcesses(t *testing.T) {
	n := 5000
	if text := os.Getenv("SNOWKEY_MANY"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, dialect := range dbtest.Databases(t) {
		if dialect != "sqlite" {
			t.Run(dialect, func(t *testing.T) { compare(t, dialect, ways, n, 24, 128, 5*time.Second) })
		}
	}
}
