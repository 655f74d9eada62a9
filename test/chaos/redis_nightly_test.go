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
			network, err := newProxy(pair.primary.Address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(network.close)
			f := newFleet(t, redisBackend, server, 50_000)
			f.orders.Store = network.addr()
			f.orders.MinWorker, f.orders.MaxWorker, f.orders.Eager = 1, 1, eager
			flows := func(p *process) {
				t.Helper()
				for start := time.Now(); !p.drewSince(start); time.Sleep(5 * time.Millisecond) {
					if time.Since(start) > 20*time.Second {
						t.Fatal(p.label, " draws no ids")
					}
				}
			}
			launch := func() *process {
				t.Helper()
				p, err := f.start(nil)
				if err != nil {
					t.Fatal(err)
				}
				flows(p)
				return p
			}

			// The row exists and is free, and the replica has it.
			if err := launch().close(); err != nil {
				t.Fatal(err)
			}
			if err := pair.follow(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond) // more than replication takes here
			if err := pair.leave(); err != nil {
				t.Fatal(err)
			}
			second := launch() // claims the row, of which the replica knows nothing
			if err := pair.promote(network); err != nil {
				t.Fatal(err)
			}
			// While the second process is stopped, it can't claim the row again itself.
			if err := second.signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			launch() // claims it again
			if err := second.signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)

			f.killAll()
			found, totals, err := f.check.Check()
			if err != nil {
				t.Fatal(err)
			}
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
