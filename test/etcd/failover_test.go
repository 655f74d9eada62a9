package etcd

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Processes draw ids from three members, while the leader is killed and stopped.
func TestFailover(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	cfg := config(t, time.Second)
	var d drawn
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const processes = 4
	var counts [processes]atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for i := range processes {
		pool, _ := c.open(cfg)
		wg.Go(func() {
			for ctx.Err() == nil {
				try, done := context.WithTimeout(ctx, time.Second)
				counts[i].Add(int64(d.draw(try, pool, 1000)))
				done()
			}
		})
	}
	// flows waits until each process has drawn more ids than a bound can still hold.
	flows := func(after string) {
		t.Helper()
		var before [processes]int64
		for i := range counts {
			before[i] = counts[i].Load()
		}
		began, enough := time.Now(), int64(16*2*(cfg.Window+time.Second)/time.Millisecond)
		for i := range counts {
			for counts[i].Load() < before[i]+enough {
				if time.Since(began) > time.Minute {
					t.Fatalf("%s: process %d drew %d ids in a minute", after, i, counts[i].Load()-before[i])
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
		t.Logf("%s: %d ids of each process after %v", after, enough, time.Since(began).Round(time.Millisecond))
	}
	flows("at first")
	m := c.leader()
	m.kill()
	flows("leader killed")
	c.run(m)
	m = c.leader()
	m.signal(syscall.SIGSTOP)
	time.Sleep(3 * time.Second)
	m.signal(syscall.SIGCONT)
	flows("leader stopped for 3 s")
	for _, m := range c.members {
		m.kill()
	}
	for _, m := range c.members {
		c.run(m)
	}
	flows("all members killed")
	cancel()
	wg.Wait()
	if n := d.found(); n > 0 {
		t.Errorf("%d duplicates of %d ids", n, len(d.ids))
	}
	t.Logf("%d ids", len(d.ids))
}
