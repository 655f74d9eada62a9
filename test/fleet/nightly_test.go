//go:build nightly

package fleet

import (
	"testing"
	"time"

	"github.com/snowkey-go/snowkey"
)

// TestNightlyStores draws 10⁸ ids from 100 stores.
func TestNightlyStores(t *testing.T) { compare(t, 100, 1_000_000, 5*time.Second, 0, ranges, nothing) }

// TestNightlySameWorker draws a thousand ids a second from each of two services that lease
// the same worker number.
func TestNightlySameWorker(t *testing.T) {
	all := servicesOf(t, 2)
	pools := openAll(t, all, "same", time.Second, func(service) snowkey.Config { return snowkey.Config{MinWorker: 7, MaxWorker: 7} })
	ids := draw(t, pools, 40_000, 1, time.Millisecond)
	same := equal(ids)
	t.Logf("%d of %d ids in %d ms are equal to another", same, len(ids), ticks(ids))
	if same == 0 || same > 100 {
		t.Error("expected about 10")
	}
}
