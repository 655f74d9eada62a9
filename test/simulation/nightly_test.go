//go:build nightly

package simulation

import (
	"testing"
	"time"
)

// TestNightlySimulation simulates 100,000 processes. It prints the tables of
// docs/many-processes.md.
func TestNightlySimulation(t *testing.T) {
	for _, tt := range []struct {
		name   string
		bits   int
		window time.Duration
	}{
		{"262,144 worker numbers, Window 1 min", 18, time.Minute},
		{"262,144 worker numbers, Window 10 s", 18, 10 * time.Second},
		{"131,072 worker numbers, Window 1 min", 17, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := measured
			cfg.Processes, cfg.Bits, cfg.Window = 100_000, tt.bits, tt.window
			r := Run(cfg)
			t.Logf("seed %d, %d leases\n%s", cfg.Seed, r.Leases, r.Markdown())
			if r.Duplicates > 0 {
				t.Errorf("%d leases granted ids of other leases", r.Duplicates)
			}
			cfg.Broken = "start"
			if broken := Run(cfg); broken.Duplicates == 0 {
				t.Error("no lease granted the ids of another one when leases started at the host's time")
			}
		})
	}
}
