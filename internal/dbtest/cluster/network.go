package cluster

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A host is a network namespace in which a server runs. Only the other hosts of its network can
// reach it, so programs outside connect through a Unix socket.
type host struct {
	space   string // the name of the namespace
	hub     string // the name of the namespace with the bridge that joins all hosts
	port    string // the interface of the hub that leads to the host
	address string // the host's IP address
}

// hosts returns the hosts of a new network, which ends with the test.
func hosts(t dbtest.TB, n int) []*host {
	t.Helper()
	ipProgram = dbtest.Program(t, "iproute2", "ip")
	dbtest.Program(t, "util-linux", "nsenter")
	if os.Geteuid() != 0 {
		dbtest.NotRun(t, "dbtest: this test needs network namespaces: run it as root on Linux")
	}
	hub := "snowkey-" + strings.ToLower(rand.Text()[:8])
	add := func(space string, commands ...string) {
		t.Helper()
		commands = append([]string{"netns add " + space, "-n " + space + " link set lo up"}, commands...)
		t.Cleanup(func() { ip("netns del " + space) })
		for _, command := range commands {
			if err := ip(command); err != nil {
				t.Fatalf("%v", err)
			}
		}
	}
	add(hub, "-n "+hub+" link add bridge type bridge", "-n "+hub+" link set bridge up")
	all := make([]*host, n)
	for i := range all {
		h := &host{space: fmt.Sprint(hub, "-", i+1), hub: hub, port: fmt.Sprint("host", i+1), address: fmt.Sprint("192.0.2.", i+1)}
		add(h.space,
			"-n "+hub+" link add "+h.port+" type veth peer name eth0 netns "+h.space,
			"-n "+hub+" link set "+h.port+" master bridge up",
			"-n "+h.space+" address add "+h.address+"/24 dev eth0",
			"-n "+h.space+" link set eth0 up")
		all[i] = h
	}
	return all
}

var ipProgram string

// ip runs a command of the program of the same name.
func ip(command string) error {
	if out, err := exec.Command(ipProgram, strings.Fields(command)...).CombinedOutput(); err != nil {
		return fmt.Errorf("dbtest: ip %s: %w\n%s", command, err, out)
	}
	return nil
}

// cut makes the network lose all packets to and from the host. join ends that.
func (h *host) cut() error  { return ip("-n " + h.hub + " link set " + h.port + " nomaster") }
func (h *host) join() error { return ip("-n " + h.hub + " link set " + h.port + " master bridge") }
