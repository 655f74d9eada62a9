//go:build nightly && unix

package chaos

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dbtest/cluster"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/zkstore"
)

// All servers are restored from a copy that lacks the claim of a process, while that
// process still issues ids below its bound. Another process then claims the same worker
// number. There is another era, so the fence is above that bound. If the namespace has the
// fingerprint of that era already, as it would if a restore did not change the
// fingerprint, both issue the same ids. Ticks are days, so the ids don't depend on how
// long the restore takes, and the fence is the next day.
func TestNightlyZooKeeperRestoreThatLosesAClaim(t *testing.T) {
	if !dbtest.Wants(t, "zookeeper") {
		t.Skip("SNOWKEY_TEST_DB leaves zookeeper out")
	}
	for name, same := range map[string]bool{"another era": false, "the same fingerprint": true} {
		t.Run(name, func(t *testing.T) {
			z := cluster.ZooKeepers(t, 1)
			f := newFleet(t, zooKeeperBackend, zooKeeperServer(z, t.TempDir()), 50_000)
			f.setDays(true)
			f.orders.MinWorker, f.orders.MaxWorker = 1, 1
			network := newProxy(t, z.Members[0].Address)

			// The row exists and is free in the copy, which is taken while nothing is written: a
			// restart would begin another era.
			if err := begin(t, f).close(); err != nil {
				t.Fatal(err)
			}
			backup, m := filepath.Join(t.TempDir(), "copy"), z.Members[0]
			if err := m.CopyData(backup); err != nil {
				t.Fatal(err)
			}
			f.orders.Store = network.Address()
			begin(t, f) // claims the row, of which the copy knows nothing
			network.cut()
			if err := z.Restart(func(m *cluster.ZooKeeperMember) error { return m.ReplaceData(backup) }); err != nil {
				t.Fatal(err)
			}
			if same {
				keepFingerprint(t, m.Address)
			}
			f.orders.Store = m.Address
			leases := 2
			if same { // claims it again
				leases = 3
				begin(t, f)
			} else {
				p, err := f.start(nil)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if time.Sleep(5 * time.Second); p.drewSince(began) {
					t.Error("a process draws ids before the fence")
				}
			}

			f.killAll()
			found, totals := f.check.Check()
			t.Logf("%d ids under %d leases, duplicates: %v", totals.IDs, totals.Leases, found)
			if totals.Leases != leases || len(f.bad) > 0 {
				t.Errorf("%d leases, want %d; %v", totals.Leases, leases, f.bad)
			}
			if same != (len(found) > 0) {
				t.Errorf("%d duplicates: %v", len(found), found)
			}
		})
	}
}

// keepFingerprint gives the only layout the fingerprint of the current era, and leaves
// its fence.
func keepFingerprint(t *testing.T, address string) {
	t.Helper()
	conn, err := dialZooKeeper(address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	q := lease.Query{Terms: lease.Terms{Namespace: "another", Unit: 1, PerTick: 1}} // any probe begins the era
	probe, err := zkstore.New(conn).Probe(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	names, _, err := conn.Children("/snowkey/namespaces/default")
	if err != nil || len(names) != 1 {
		t.Fatalf("the layouts are %q, %v", names, err)
	}
	node := strings.Join([]string{"/snowkey/namespaces/default", names[0]}, "/")
	state := map[string]any{"before": map[string]any{"fingerprint": probe.Current, "fence": 0}}
	content, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Set(node, content, -1); err != nil {
		t.Fatal(err)
	}
}
