//go:build nightly

package zkstore

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/zkstore"
	"github.com/snowkey-go/snowkey/test/internal/cluster"
)

func TestNightlyStandalone(t *testing.T) {
	suite(t, []string{dbtest.ZooKeeperMember(1, "").Start(t).Address})
}

// A lease survives an election. The first claim after it needs a fence.
func TestNightlyElection(t *testing.T) {
	z := dbtest.ZooKeeper().Start(t)
	conn := connect(t, z.Address)
	p := newProcess(t, conn, "/election")
	before := p.Look()
	p.Must(p.AddRows(t.Context(), terms, 8, 8))
	p.Must(z.Kill())
	p.Must(z.Start())
	p.Must(dbtest.Within(time.Minute, func() error { // until the session works again
		_, _, err := conn.Exists("/")
		return err
	}))
	if !p.Renewed(t.Context()) {
		t.Error("the lease did not survive the election")
	}
	after := p.Look()
	if after.Current == before.Current || after.Fingerprint != before.Fingerprint || !after.HasFree {
		t.Errorf("before the election %+v, after it %+v", before, after)
	}
	if _, ok, err := p.Claim(t.Context(), p.ClaimOf(after)); ok || err != nil {
		t.Errorf("a claim before the fence: %v, %v", ok, err)
	}
	p.Must(p.Fence(t.Context(), terms, after.Fingerprint))
	if found := p.Look(); found.Current != found.Fingerprint || found.Fence < terms.At(p.Held.Now).RaisedFence {
		t.Errorf("after the fence %+v", found)
	}
}

// A waiting process reads a leased row again only when its lease has expired, or when a
// row was released. It must notice both, and that a lease was renewed instead.
func TestNightlyWaitingProbe(t *testing.T) {
	h := newProcess(t, connect(t, dbtest.ZooKeeper().Start(t).Address), "/waiting")
	short := terms
	short.TTL, short.Skew = (2 * time.Second).Microseconds(), 0
	waiting := func() lease.Probe {
		t.Helper()
		p, err := h.Probe(t.Context(), lease.Query{Terms: short, Max: 1023, PreferWorker: -1, Waiting: true})
		h.Must(err)
		return p
	}
	renew := func() {
		t.Helper()
		row, ok, err := h.Renew(t.Context(), lease.Renewal{Terms: short, Held: h.Held, Token: rand.Text(), Wanted: 1 << 62})
		h.Must(err)
		if !ok {
			t.Fatal("refused")
		}
		h.Held = row
	}
	renew()
	if p := waiting(); p.HasFree || p.Row.Token != h.Held.Token {
		t.Errorf("leased: %+v", p)
	}
	time.Sleep(time.Second)
	renew()
	time.Sleep(time.Second + 100*time.Millisecond)
	if p := waiting(); p.Row.Token != h.Held.Token || p.HasFree != (p.Now > h.Held.Expires) {
		t.Errorf("renewed: %+v, and the row is %+v", p, h.Held)
	}
	time.Sleep(2 * time.Second)
	if p := waiting(); !p.HasFree || p.Row.Token != h.Held.Token {
		t.Errorf("expired: %+v", p)
	}
	time.Sleep(2 * time.Second) // the skew of terms
	h.Lease()
	if p := waiting(); p.HasFree {
		t.Errorf("claimed again: %+v", p)
	}
	if ok, err := h.Release(t.Context(), terms, h.Held, h.Held.Bound); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if p := waiting(); !p.HasFree || p.Row.Token != "" {
		t.Errorf("released: %+v", p)
	}
}

// The leader hangs: it accepts connections and does not answer, while the other two elect
// a leader of their own. Bounds are 10 s ahead, so an id 25 s later needs renewals at the
// new leader. Without the dialer, clients wait for the old one for 67 s.
func TestNightlySilentLeader(t *testing.T) {
	z := cluster.ZooKeepers(t, 3)
	var pools []*idgen.Pool
	for range 6 {
		pool, conn, err := Open(t.Context(), z.Addresses())
		dbtest.NoError(t, err)
		t.Cleanup(conn.Close)
		t.Cleanup(func() { _ = pool.Close(context.Background()) })
		pools = append(pools, pool)
	}
	leader := dbtest.Must(z.Leader())(t)
	dbtest.NoError(t, leader.Signal(syscall.SIGSTOP))
	defer leader.Signal(syscall.SIGCONT)
	stopped := time.Now()
	ctx, cancel := context.WithDeadline(t.Context(), stopped.Add(55*time.Second))
	defer cancel()
	time.Sleep(25 * time.Second)
	var all sync.WaitGroup
	for i, pool := range pools {
		all.Go(func() {
			if _, err := pool.Next(ctx); err != nil {
				t.Errorf("pool %d: %v", i, err)
			}
			t.Logf("pool %d: an id %v after the leader hung", i, time.Since(stopped))
		})
	}
	all.Wait()
}

// Open leases a worker number from ZooKeeper. The caller closes the pool before the connection.
func Open(ctx context.Context, servers []string) (*idgen.Pool, *zk.Conn, error) {
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithDialer(zkstore.Dialer(5*time.Second)))
	if err != nil {
		return nil, nil, err
	}
	pool, err := snowkey.Open(ctx, zkstore.New(conn), snowkey.Config{})
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return pool, conn, nil
}

// Two pools that the page's code opens on three servers draw different ids.
func TestNightlyOpen(t *testing.T) {
	source := dbtest.Must(os.ReadFile("faults_nightly_test.go"))(t)
	page := dbtest.Must(os.ReadFile("../../docs/stores.md"))(t)
	_, code, _ := strings.Cut(string(page), "\n## ZooKeeper\n\n```go\n")
	code, _, ok := strings.Cut(code, "```")
	if !ok || !strings.Contains(string(source), code) {
		t.Errorf("this file does not have the code of the page:\n%s", code)
	}

	servers := []string{dbtest.ZooKeeper().Start(t).Address}
	seen := make(map[int64]bool)
	for range 2 {
		pool, conn, err := Open(t.Context(), servers)
		dbtest.NoError(t, err)
		defer conn.Close()
		defer pool.Close(t.Context())
		for range 10_000 {
			id := dbtest.Must(pool.Next(t.Context()))(t)
			if seen[id] {
				t.Fatalf("the id %d is issued again", id)
			}
			seen[id] = true
		}
	}
}
