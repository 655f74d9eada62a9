package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A ZooKeeper is an ensemble of private ZooKeeper servers. Its last member can be
// isolated from the others.
type ZooKeeper struct {
	Members []*ZooKeeperMember

	links []*dbtest.Proxy // between the last member and the others
	ends  []string        // to which links lead
}

// A ZooKeeperMember is one server of an ensemble, for a test to kill and stop. It must
// not be used by more than one goroutine at a time.
type ZooKeeperMember struct{ *dbtest.Process }

// ZooKeepers starts an ensemble of n servers, which end with the test. Options are
// arguments of Java, and the last of the same name wins.
func ZooKeepers(t dbtest.TB, n int, options ...string) *ZooKeeper {
	t.Helper()
	z := new(ZooKeeper)
	peers, elections := freeAddresses(t, n), freeAddresses(t, n)
	// link returns the port by which member i reaches an address of member j.
	link := func(i, j int, address string) (port string) {
		if i != j && (i == n-1 || j == n-1) {
			p := dbtest.ProxyTo(t, address)
			z.links, z.ends = append(z.links, p), append(z.ends, address)
			address = p.Address()
		}
		_, port, _ = net.SplitHostPort(address)
		return port
	}
	for i := range n {
		var config strings.Builder
		config.WriteString("standaloneEnabled=false\n")
		for j := range n {
			config.WriteString(fmt.Sprintf("server.%d=127.0.0.1:%s:%s\n", j+1, link(i, j, peers[j]), link(i, j, elections[j])))
		}
		s := dbtest.ZooKeeperMember(i+1, config.String(), options...)
		s.Answers = listens // it serves clients only if most of the ensemble runs
		z.Members = append(z.Members, &ZooKeeperMember{s.Start(t)})
	}
	if err := z.Await(); err != nil {
		t.Fatalf("%v", err)
	}
	return z
}

// Addresses returns the addresses of all members, for clients.
func (z *ZooKeeper) Addresses() (list []string) {
	for _, m := range z.Members {
		list = append(list, m.Address)
	}
	return list
}

// Leader waits until there is a leader, and returns it.
func (z *ZooKeeper) Leader() (leader *ZooKeeperMember, err error) {
	return leader, dbtest.Within(time.Minute, func() error {
		for _, m := range z.Members {
			if mode, err := m.mode(); err == nil && mode != "follower" {
				leader = m
				return nil
			}
		}
		return errors.New("dbtest: ZooKeeper has had no leader for a minute")
	})
}

// LastLeads makes the last member the leader, by which others are killed and started.
func (z *ZooKeeper) LastLeads() error {
	last := z.Members[len(z.Members)-1]
	for range 10 {
		m, err := z.Leader()
		if err != nil || m == last {
			return err
		}
		if err := errors.Join(m.Kill(), m.Start(), z.Await()); err != nil {
			return err
		}
	}
	return errors.New("dbtest: the last member does not become the leader")
}

// Isolate cuts the last member off from the others, but not from its clients. Rejoin
// ends that.
func (z *ZooKeeper) Isolate() {
	for _, p := range z.links {
		p.Cut()
	}
}

// Rejoin ends what Isolate began.
func (z *ZooKeeper) Rejoin() {
	for i, p := range z.links {
		p.LeadTo(z.ends[i])
	}
}

// Restart kills all members, lets change do something to each of them, and starts them
// again. It returns when all of them serve clients.
func (z *ZooKeeper) Restart(change func(m *ZooKeeperMember) error) error {
	for _, m := range z.Members {
		if m.Runs() {
			if err := m.Kill(); err != nil {
				return err
			}
		}
	}
	for _, m := range z.Members {
		if err := errors.Join(change(m), m.Start()); err != nil {
			return err
		}
	}
	return z.Await()
}

// Await waits until all members serve clients.
func (z *ZooKeeper) Await() error {
	for _, m := range z.Members {
		err := dbtest.Within(3*time.Minute, func() error { _, err := m.mode(); return err })
		if err != nil {
			return fmt.Errorf("dbtest: %w; the log of ZooKeeper ends:\n%s", err, m.Log())
		}
	}
	return nil
}

// mode returns "leader", "follower" or "standalone", or an error if the server doesn't
// serve clients.
func (m *ZooKeeperMember) mode() (string, error) {
	return dbtest.ZooKeeperStatus(m.Address, "Mode: ", "\n")
}

// CopyData copies the data of a server, which must not be writing, to a folder that does
// not exist.
func (m *ZooKeeperMember) CopyData(folder string) error {
	return run("cp", "-a", m.data(), folder)
}

// ReplaceData replaces the data of a killed server with that of CopyData, or removes it
// if folder is empty.
func (m *ZooKeeperMember) ReplaceData(folder string) error {
	if err := os.RemoveAll(m.data()); err != nil || folder == "" {
		return err
	}
	return run("cp", "-a", folder, m.data())
}

func (m *ZooKeeperMember) data() string { return filepath.Join(m.Dir, "version-2") }

func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("dbtest: %s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
