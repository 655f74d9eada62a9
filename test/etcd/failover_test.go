//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Processes draw ids from three members, while the leader is killed,
// stopped, and cut off from the other members.
func TestFailover(t *testing.T) {
	t.Parallel()
	var p partition
	c := startBehind(t, &p, 3)
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
	m := c.leader(nil)
	m.kill()
	flows("leader killed")
	c.run(m)
	m = c.leader(nil)
	m.signal(syscall.SIGSTOP)
	time.Sleep(3 * time.Second)
	m.signal(syscall.SIGCONT)
	flows("leader stopped for 3 s")
	m = c.leader(nil)
	p.isolate(m.id)
	if next := c.leader(m); next == m {
		t.Error("the leader was not cut off")
	}
	flows("leader cut off from the others")
	p.isolate(0)
	flows("leader back")
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

// Each member is replaced by an empty one while a process draws ids. The process keeps its
// lease, and the next one continues above it.
func TestMembersReplaced(t *testing.T) {
	t.Parallel()
	c := start(t, 3, "--strict-reconfig-check=false") // otherwise an addition has to wait for 5 s
	cfg := config(t, time.Second)
	var d drawn
	pool, client := c.open(cfg)
	worker, _ := pool.Worker()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cluster := func() uint64 {
		t.Helper()
		resp, err := client.Get(ctx, "ready")
		if err != nil {
			t.Fatal(err)
		}
		return resp.Header.ClusterId
	}
	// change changes the members, and tries again until there is nothing left to do. etcd
	// drops a change without an answer if it has not executed the previous one.
	change := func(do func(context.Context) error, done error) {
		t.Helper()
		for {
			try, cancel := context.WithTimeout(ctx, 2*time.Second)
			err := do(try)
			cancel()
			if err == nil || errors.Is(err, done) {
				return
			}
			if ctx.Err() != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	before := cluster()
	for _, m := range c.members {
		status, err := client.Status(ctx, m.client)
		if err != nil {
			t.Fatal(err)
		}
		m.kill()
		change(func(ctx context.Context) error {
			_, err := client.MemberRemove(ctx, status.Header.MemberId)
			return err
		}, rpctypes.ErrMemberNotFound)
		if err := os.RemoveAll(m.dir); err != nil {
			t.Fatal(err)
		}
		change(func(ctx context.Context) error {
			_, err := client.MemberAdd(ctx, []string{"http://" + m.advertised})
			return err
		}, rpctypes.ErrPeerURLExist)
		c.run(m, "--initial-cluster-state", "existing")
		for {
			s, err := client.Status(ctx, m.client)
			if err == nil && s.Leader != 0 && !s.IsLearner && len(s.Errors) == 0 {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("%s has not joined: %v", m.name, err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		// More ids than a bound can still hold.
		if n := d.draw(ctx, pool, 50_000); n < 50_000 {
			t.Errorf("%s replaced: drew %d ids", m.name, n)
		}
	}
	if after := cluster(); after != before {
		t.Errorf("the cluster id was %x, and is %x", before, after)
	}
	if now, ok := pool.Worker(); !ok || now != worker {
		t.Errorf("the worker number was %d, and is %d", worker, now)
	}
	next, _ := c.open(cfg)
	d.draw(ctx, next, 50_000)
	if n := d.found(); n > 0 {
		t.Errorf("%d duplicates of %d ids", n, len(d.ids))
	}
}
