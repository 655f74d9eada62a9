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
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
)

// fleetOf returns the text of a file with the layout of these tests, which has 16 worker
// numbers.
func fleetOf(t *testing.T, lines ...string) string {
	return fmt.Sprintf("layout %s\n%s\n", layout(t), strings.Join(lines, "\n"))
}

// Each service must lease only worker numbers of its range.
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := fleetOf(t, "mail 0 1", "orders 2 4", "spare 5 15")
		for service, want := range map[string][]int64{"mail": {0, 1}, "orders": {2, 3, 4}} {
			store := &kvtest.Memory{} // each service has a store of its own
			cfg := errtest.Must(snowkey.Config{}.ForService(file, service))(t)
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

// Other errors are tested with package fleet.
func TestFleetRefused(t *testing.T) {
	file, other := fleetOf(t, "orders 0 7", "payments 8 15"), idgen.JSSafe()
	for want, cfg := range map[string]snowkey.Config{
		"Config.Layout":    {Layout: other},
		"Config.MinWorker": {MinWorker: 1},
		"MaxWorker 1":      {MaxWorker: 1},
	} {
		if _, err := cfg.ForService(file, "orders"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	_, err := snowkey.Config{Layout: other}.ForService(file, "orders")
	if !strings.Contains(err.Error(), other.String()) || !strings.Contains(err.Error(), layout(t).String()) {
		t.Errorf("%v does not have both layouts", err)
	}
	if _, err := (snowkey.Config{}).ForService(file, "order"); err == nil || !strings.Contains(err.Error(), `"order" is not`) {
		t.Errorf("an unknown service: %v", err)
	}
}
