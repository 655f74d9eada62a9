//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// One of three members hangs, while the other two go on. All pools must go on too,
// although the client sends requests to all members in turn and does not notice.
func TestNightlySilentMember(t *testing.T) {
	c := start(t, 3)
	cfg := config(t, 2*time.Second)
	var d drawn
	var pools []*idgen.Pool
	for range 8 {
		pool, _ := c.open(cfg)
		pools = append(pools, pool)
	}
	for _, leads := range []bool{false, true} {
		m := c.leader()
		for _, other := range c.members {
			if !leads && other != m {
				m = other
				break
			}
		}
		m.signal(syscall.SIGSTOP)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		var wg sync.WaitGroup
		for i, pool := range pools {
			wg.Go(func() {
				// More ids than the bounds of the next seconds can hold.
				enough := int(16 * 8 * time.Second / time.Millisecond)
				if n := d.draw(ctx, pool, enough); n < enough {
					t.Errorf("leader %v: pool %d drew %d of %d ids: %v", leads, i, n, enough, pool.Health())
				}
			})
		}
		wg.Wait()
		cancel()
		m.signal(syscall.SIGCONT)
	}
	if n := d.found(); n > 0 {
		t.Errorf("%d duplicates of %d ids", n, len(d.ids))
	}
}
