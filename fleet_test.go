package snowkey_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/leasetest"
)

// fleetOf returns the text of a file with the layout of these tests, which has 16 worker
// numbers.
func fleetOf(t *testing.T, lines ...string) string {
	return fmt.Sprintf("layout %s\n%s\n", layout(t), strings.Join(lines, "\n"))
}

// Each service must lease only worker numbers of its range, even if the range is 0 to 0,
// which MinWorker and MaxWorker can't express.
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := fleetOf(t, "mail 0 0", "orders 1 3", "spare 4 15")
		for service, want := range map[string][]int64{"mail": {0}, "orders": {1, 2, 3}} {
			store := &leasetest.Memory{} // each service has a store of its own
			cfg := snowkey.Config{Fleet: file, Service: service}
			got := make(map[int64]bool)
			for range want {
				pool := open(t, store, cfg) // with the layout in Config as well as in the file
				got[workerOf(t, pool)] = true
				mustNext(t, pool)
			}
			for _, worker := range want {
				if !got[worker] {
					t.Errorf("%s did not lease %d: %v", service, worker, got)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			_, err := snowkey.Open(ctx, store, cfg)
			cancel()
			if taken, ok := errors.AsType[*lease.TakenError](err); !ok || taken.Min != want[0] || taken.Max != want[len(want)-1] {
				t.Errorf("%s: with no free number: %v", service, err)
			}
			found, err := snowkey.Doctor(t.Context(), store, cfg)
			if err != nil || len(found) != 1 || found[0].Kind != "crowded" {
				t.Errorf("%s: Doctor: %v, %v", service, found, err)
			}
			if err := snowkey.Fence(t.Context(), store, cfg); err != nil {
				t.Errorf("%s: Fence: %v", service, err)
			}
		}
	})
}

// Nothing may be written to the store if the file is wrong or does not go with the Config.
func TestFleetRefused(t *testing.T) {
	file := fleetOf(t, "orders 0 7", "payments 8 15")
	other, err := idgen.NewLayout(layout(t).Epoch(), layout(t).Unit(), idgen.Time(40), idgen.Worker(4), idgen.Sequence(13))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		cfg  snowkey.Config
		want []string
	}{
		"overlap":            {snowkey.Config{Fleet: fleetOf(t, "orders 0 8", "payments 8 15"), Service: "orders"}, []string{`"orders"`, `"payments"`, "both have 8 to 8"}},
		"unknown service":    {snowkey.Config{Fleet: file, Service: "order"}, []string{`"order" is not`, `"orders", "payments"`}},
		"another layout":     {snowkey.Config{Fleet: file, Service: "orders", Layout: other}, []string{`"orders"`, other.String(), layout(t).String()}},
		"no service":         {snowkey.Config{Fleet: file}, []string{"Config.Service"}},
		"no file":            {snowkey.Config{Service: "orders"}, []string{"Config.Fleet", `"orders"`}},
		"MinWorker as well":  {snowkey.Config{Fleet: file, Service: "orders", MinWorker: 1}, []string{"Config.MinWorker", "Fleet"}},
		"MaxWorker as well":  {snowkey.Config{Fleet: file, Service: "orders", MaxWorker: 1}, []string{"Config.MinWorker", "Fleet"}},
		"a name, not a file": {snowkey.Config{Fleet: "fleet.txt", Service: "orders"}, []string{"line 1", "fleet.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			store, calls := &leasetest.Memory{}, 0
			store.Fault(func(string) leasetest.Fault { calls++; return 0 })
			_, err := snowkey.Open(t.Context(), store, tt.cfg)
			_, err2 := snowkey.Doctor(t.Context(), store, tt.cfg)
			for _, err := range []error{err, err2, snowkey.Fence(t.Context(), store, tt.cfg)} {
				_, isFleet := errors.AsType[*lease.FleetError](err)
				_, isConfig := errors.AsType[*lease.ConfigError](err)
				if !isFleet && !isConfig {
					t.Fatalf("%T: %v", err, err)
				}
				for _, want := range tt.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q does not say %q", err, want)
					}
				}
			}
			if calls > 0 {
				t.Errorf("%d calls of the store", calls)
			}
		})
	}
}
