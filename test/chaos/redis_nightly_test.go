//go:build nightly && unix

package chaos

import (
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A replica lacks the claim of a process, and is promoted while that process still issues
// ids below its bound. Another process then claims the same worker number. The hold-off
// makes it start above that bound. Without the hold-off, both issue the same ids.
func TestNightlyRedisFailoverThatLosesAClaim(t *testing.T) {
	if !dbtest.Wants(t, "redis") {
		t.Skip("SNOWKEY_TEST_DB leaves redis out")
	}
	for name, eager := range map[string]bool{"hold-off": false, "granted with the claim": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair := startRedisPair(t)
			server := pair.server()
			network := newProxy(t, pair.primary.Address)
			f := newFleet(t, redisBackend, server, 50_000)
			f.orders.Store = network.Address()
			f.orders.MinWorker, f.orders.MaxWorker, f.orders.Eager = 1, 1, eager

			// The row exists and is free, and the replica has it.
			if err := begin(t, f).close(); err != nil {
				t.Fatal(err)
			}
			if err := pair.follow(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond) // more than replication takes here
			if err := pair.leave(); err != nil {
				t.Fatal(err)
			}
			second := begin(t, f) // claims the row, of which the replica knows nothing
			if err := pair.promote(network); err != nil {
				t.Fatal(err)
			}
			// While the second process is stopped, it can't claim the row again itself.
			if err := second.signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			begin(t, f) // claims it again
			if err := second.signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)

			f.killAll()
			found, totals := f.check.Check()
			t.Logf("%d ids under %d leases, duplicates: %v", totals.IDs, totals.Leases, found)
			if totals.Leases != 3 || len(f.bad) > 0 {
				t.Errorf("%d leases, want 3; %v", totals.Leases, f.bad)
			}
			if eager != (len(found) > 0) {
				t.Errorf("%d duplicates: %v", len(found), found)
			}
		})
	}
}
