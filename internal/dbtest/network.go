package dbtest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A host is a network namespace in which a server runs. Only the other hosts of its network can
// reach it, so programs outside connect through a Unix socket.
type host struct {
	space   string // the name of the namespace
	hub     string // the name of the namespace with the bridge that joins all hosts
	port    string // the interface of the hub that leads to the host
	address string // the host's IP address
	sockets string // a folder for Unix sockets
}

// hosts returns the hosts of a new network, which ends with the test.
func hosts(t TB, n int) []*host {
	t.Helper()
	find := func() bool {
		_, ip := findPrograms([]string{"/usr/sbin", "/sbin"}, "ip")
		_, nsenter := findPrograms([]string{"/usr/bin"}, "nsenter")
		return ip && nsenter
	}
	err := obtain("iproute2 util-linux", "ip and nsenter", find)
	if err == nil && os.Geteuid() != 0 {
		err = &absentError{"network namespaces", "no packages: run the tests as root on Linux", errors.ErrUnsupported}
	}
	if err != nil {
		missing(t, err)
	}
	sockets, _, err := ownedDir(mysqlAccount)
	if err != nil {
		t.Fatalf("dbtest: a folder for sockets: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })

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
		h := &host{space: fmt.Sprint(hub, "-", i+1), hub: hub, port: fmt.Sprint("host", i+1), address: fmt.Sprint("192.0.2.", i+1), sockets: sockets}
		add(h.space,
			"-n "+hub+" link add "+h.port+" type veth peer name eth0 netns "+h.space,
			"-n "+hub+" link set "+h.port+" master bridge up",
			"-n "+h.space+" address add "+h.address+"/24 dev eth0",
			"-n "+h.space+" link set eth0 up")
		all[i] = h
	}
	return all
}

// ip runs a command of the program of the same name.
func ip(command string) error {
	if out, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
		return fmt.Errorf("dbtest: ip %s: %w\n%s", command, err, out)
	}
	return nil
}

// cut makes the network lose all packets to and from the host. join ends that.
func (h *host) cut() error  { return ip("-n " + h.hub + " link set " + h.port + " nomaster") }
func (h *host) join() error { return ip("-n " + h.hub + " link set " + h.port + " master bridge") }

// mysql returns e with servers that run on the host.
func (h *host) mysql(e engine) engine {
	e.space = h.space
	find := e.find
	e.find = func(look finder) (installation, bool) {
		in, ok := find(look)
		serve := in.serve
		socket := func(port int) string { return filepath.Join(h.sockets, fmt.Sprint(h.port, "-", port)) }
		in.serve = func(dir, data string, port int, durable bool) []string {
			return append(serve(dir, data, port, durable), "--socket="+socket(port))
		}
		in.dsn = func(port int) string { return "root@unix(" + socket(port) + ")/" }
		return in, ok
	}
	return e
}
