//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A cluster is a number of members, each of which is a process that runs the test binary.
type cluster struct {
	testing.TB
	members []*dbtest.Process
	peers   []string // their URLs for each other
}

// start starts a cluster of n members and waits until it commits writes.
func start(t testing.TB, n int) *cluster {
	t.Helper()
	c := &cluster{TB: t}
	for range n {
		c.peers = append(c.peers, fmt.Sprint("http://127.0.0.1:", dbtest.FreePort(t)))
	}
	for i, peer := range c.peers {
		c.members = append(c.members, member("--name", fmt.Sprint("m", i), "--initial-cluster", c.names(),
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer).Start(t))
	}
	c.ready()
	return c
}

// names returns the members' names and URLs, as etcd's options have them.
func (c *cluster) names() string {
	var all []string
	for i, peer := range c.peers {
		all = append(all, fmt.Sprintf("m%d=%s", i, peer))
	}
	return strings.Join(all, ",")
}

// member is a member with the etcd that is in the test binary.
func member(options ...string) dbtest.Service {
	s := dbtest.Etcd(options...)
	serve := s.Serve
	s.Programs, s.Packages = []string{"env"}, ""
	s.Account = "root" // if that's us, because others can't read the test binary
	s.Serve = func(env []string, dir string, port int) []string {
		return serve(append(env, programEnv+"=etcd", os.Args[0]), dir, port)
	}
	return s
}

// program returns a command that runs one of etcd's programs in the test binary.
func program(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), programEnv+"="+name)
	return cmd
}

// ready waits until the cluster commits writes.
func (c *cluster) ready() {
	c.Helper()
	client := c.connect(nil)
	err := dbtest.Within(30*time.Second, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := client.Put(ctx, "ready", "")
		return err
	})
	for _, m := range c.members {
		if err != nil {
			c.Log(m.Log())
		}
	}
	dbtest.NoError(c, err)
}

// connect returns a client of all members, or one with the settings that set changes.
func (c *cluster) connect(set func(*clientv3.Config)) *clientv3.Client {
	c.Helper()
	cfg := clientv3.Config{DialTimeout: 5 * time.Second, Logger: zap.NewNop()}
	for _, m := range c.members {
		cfg.Endpoints = append(cfg.Endpoints, m.Address)
	}
	if set != nil {
		set(&cfg)
	}
	client := dbtest.Must(clientv3.New(cfg))(c)
	c.Cleanup(func() { client.Close() })
	return client
}

// leader returns the member that is the leader.
func (c *cluster) leader() (leader *dbtest.Process) {
	c.Helper()
	client := c.connect(nil)
	dbtest.NoError(c, dbtest.Within(time.Minute, func() error {
		for _, m := range c.members {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			status, err := client.Status(ctx, m.Address)
			cancel()
			if err == nil && status.Leader != 0 && status.Leader == status.Header.MemberId {
				leader = m
				return nil
			}
		}
		return errors.New("the cluster has no leader")
	}))
	return leader
}

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
		dbtest.NoError(t, m.Signal(syscall.SIGSTOP))
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
		dbtest.NoError(t, m.Signal(syscall.SIGCONT))
	}
	if n := d.duplicates; n > 0 {
		t.Errorf("%d duplicates of %d ids", n, len(d.ids))
	}
}
