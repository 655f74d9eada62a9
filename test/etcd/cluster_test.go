//go:build nightly && linux && (amd64 || arm64)

package etcd

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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

// A cluster is a number of members, whose processes end with the test.
type cluster struct {
	t       testing.TB
	members []*member
	token   string
	extra   []string // more flags of each member
}

type member struct {
	name         string
	dir          string
	client, peer string // addresses
	process      *exec.Cmd
}

// start starts a cluster of n members and waits until it has a leader.
func start(t testing.TB, n int, extra ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, token: "etcd-cluster", extra: extra}
	for i := range n {
		c.members = append(c.members, &member{name: fmt.Sprint("m", i), dir: filepath.Join(t.TempDir(), "data"), client: freeAddress(t), peer: freeAddress(t)})
	}
	t.Cleanup(func() {
		for _, m := range c.members {
			m.kill()
		}
	})
	for _, m := range c.members {
		c.run(m)
	}
	c.ready()
	return c
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l := dbtest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// program returns a command that runs one of etcd's programs in the test binary.
func program(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), programEnv+"="+name)
	return cmd
}

func (c *cluster) peers() string {
	var all []string
	for _, m := range c.members {
		all = append(all, m.name+"=http://"+m.peer)
	}
	return strings.Join(all, ",")
}

func (c *cluster) run(m *member, extra ...string) {
	c.t.Helper()
	args := []string{
		"--name", m.name, "--data-dir", m.dir, "--log-level", "error", "--initial-cluster", c.peers(), "--initial-cluster-token", c.token,
		"--listen-client-urls", "http://" + m.client, "--advertise-client-urls", "http://" + m.client,
		"--listen-peer-urls", "http://" + m.peer, "--initial-advertise-peer-urls", "http://" + m.peer,
	}
	m.process = program("etcd", append(append(args, c.extra...), extra...)...)
	m.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log := dbtest.Must(os.OpenFile(m.dir+".log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))(c.t)
	defer log.Close()
	m.process.Stdout, m.process.Stderr = log, log
	dbtest.NoError(c.t, m.process.Start())
}

// kill kills the process with SIGKILL, even if it is stopped.
func (m *member) kill() {
	if m.process != nil {
		m.process.Process.Kill()
		m.process.Wait()
		m.process = nil
	}
}

func (m *member) signal(s syscall.Signal) { m.process.Process.Signal(s) }

// ready waits until the cluster commits writes.
func (c *cluster) ready() {
	c.t.Helper()
	client := c.connect(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		try, done := context.WithTimeout(ctx, time.Second)
		_, err := client.Put(try, "ready", "")
		done()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			for _, m := range c.members {
				log, _ := os.ReadFile(m.dir + ".log")
				c.t.Logf("%s: %s", m.name, log)
			}
			c.t.Fatal(err)
		}
	}
}

func (c *cluster) endpoints() (all []string) {
	for _, m := range c.members {
		all = append(all, m.client)
	}
	return all
}

// connect returns a client of all members, or one with the settings that set changes.
func (c *cluster) connect(set func(*clientv3.Config)) *clientv3.Client {
	c.t.Helper()
	cfg := clientv3.Config{Endpoints: c.endpoints(), DialTimeout: 5 * time.Second, Logger: zap.NewNop()}
	if set != nil {
		set(&cfg)
	}
	client := dbtest.Must(clientv3.New(cfg))(c.t)
	c.t.Cleanup(func() { client.Close() })
	return client
}

// leader returns the member that is the leader.
func (c *cluster) leader() *member {
	c.t.Helper()
	client := c.connect(nil)
	for range 100 {
		for _, m := range c.members {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			status, err := client.Status(ctx, m.client)
			cancel()
			if err == nil && status.Leader != 0 && status.Leader == status.Header.MemberId {
				return m
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatal("the cluster has no leader")
	return nil
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
