package dbtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A ZooKeeper is an ensemble of private ZooKeeper servers. Its last member can be
// isolated from the others.
type ZooKeeper struct {
	Members []*ZooKeeperMember

	links []*Proxy // between the last member and the others
	ends  []string // to which links lead
}

// A ZooKeeperMember is one server of an ensemble, for a test to kill and stop. It must
// not be used by more than one goroutine at a time.
type ZooKeeperMember struct {
	Process
	Address string // for clients
}

// zooKeeperOptions keep the servers small and quick to start. The servers do not flush
// to disk, so a killed server keeps its data, and a machine that loses power doesn't.
var zooKeeperOptions = []string{"-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.admin.enableServer=false",
	"-Dzookeeper.forceSync=no", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"}

// ZooKeepers starts an ensemble of n servers, which end with the test. An ensemble of
// one server has elections too; for a standalone server, n is 0. The programs, which are
// Java and the classes of ZooKeeper, are looked for in the same places as the servers.
// Options are arguments of Java, and the last of the same name wins.
func ZooKeepers(t TB, n int, options ...string) *ZooKeeper {
	t.Helper()
	requireWanted(t, "zookeeper")
	java, classes, err := zooKeeperPrograms()
	if err != nil {
		missing(t, err)
	}
	z := new(ZooKeeper)
	members := max(n, 1)
	ports := make([][3]string, members) // for clients, followers and elections
	for i := range ports {
		for j := range ports[i] {
			port, err := freePort()
			if err != nil {
				t.Fatalf("dbtest: no free port: %v", err)
			}
			ports[i][j] = strconv.Itoa(port)
		}
	}
	// link returns the port by which member i reaches a port of member j.
	link := func(i, j int, port string) string {
		if i == j || i < members-1 && j < members-1 {
			return port
		}
		p := ProxyTo(t, "127.0.0.1:"+port)
		z.links, z.ends = append(z.links, p), append(z.ends, "127.0.0.1:"+port)
		_, through, _ := net.SplitHostPort(p.Address())
		return through
	}
	for i := range members {
		var config strings.Builder
		config.WriteString(fmt.Sprintf("tickTime=500\ninitLimit=20\nsyncLimit=4\nmaxClientCnxns=0\nclientPortAddress=127.0.0.1\nclientPort=%s\n", ports[i][0]))
		if n > 0 {
			config.WriteString("standaloneEnabled=false\n")
			for j := range members {
				config.WriteString(fmt.Sprintf("server.%d=127.0.0.1:%s:%s\n", j+1, link(i, j, ports[j][1]), link(i, j, ports[j][2])))
			}
		}
		m, err := startZooKeeper(java, append([]string{"-cp", classes}, slices.Concat(zooKeeperOptions, options)...), config.String(), i+1, "127.0.0.1:"+ports[i][0])
		if err != nil {
			t.Fatalf("dbtest: start ZooKeeper: %v", err)
		}
		t.Cleanup(m.warden.stop)
		z.Members = append(z.Members, m)
	}
	if err := z.Await(); err != nil {
		t.Fatalf("%v", err)
	}
	return z
}

func startZooKeeper(java string, options []string, config string, id int, address string) (*ZooKeeperMember, error) {
	dir, asAccount, err := ownedDir("zookeeper")
	if err != nil {
		return nil, err
	}
	initialise := []string{"sh", "-c", `mkdir "$1/data" && echo "$2" >"$1/data/myid" && printf '%sdataDir=%s\n' "$3" "$1/data" >"$1/zoo.cfg"`,
		"initialise", dir, strconv.Itoa(id), config}
	serve := append(append([]string{java}, options...), "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(dir, "zoo.cfg"))
	w, err := startWarden(dir, asAccount, "KILL", initialise, serve)
	if err != nil {
		return nil, err
	}
	m := &ZooKeeperMember{Address: address, Process: Process{name: "zookeeper", dir: dir, warden: w}}
	m.answers = func() error { _, err := m.Mode(); return err }
	return m, nil
}

// zooKeeperPrograms returns the path of java and the class path of ZooKeeper.
func zooKeeperPrograms() (java, classes string, err error) {
	err = obtain("default-jre-headless", "java", func() bool {
		var err error
		java, err = exec.LookPath("java")
		return err == nil
	})
	if err != nil {
		return "", "", err
	}
	const packages, installed = "libzookeeper-java", "/usr/share/java"
	cache, err := cacheDir()
	if err != nil {
		return "", "", err
	}
	unpacked := filepath.Join(cache, packages, "root", installed)
	err = obtain(packages, "the classes of ZooKeeper", func() bool {
		for _, folder := range []string{installed, unpacked} {
			if _, err := os.Stat(filepath.Join(folder, "zookeeper.jar")); err == nil {
				return true
			}
		}
		return false
	})
	// The manifest of zookeeper.jar names the other files, but only in the folder of packages
	// that are installed. SLF4J takes the first of its implementations.
	var paths []string
	for _, folder := range []string{installed, unpacked} {
		for _, name := range []string{"zookeeper.jar", "zookeeper-jute.jar", "slf4j-simple.jar"} {
			paths = append(paths, filepath.Join(folder, name))
		}
	}
	return java, strings.Join(append(paths, unpacked+"/*"), ":"), err
}

// Addresses returns the addresses of all members, for clients.
func (z *ZooKeeper) Addresses() []string {
	var list []string
	for _, m := range z.Members {
		list = append(list, m.Address)
	}
	return list
}

// Leader waits until there is a leader, and returns it.
func (z *ZooKeeper) Leader() (*ZooKeeperMember, error) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		for _, m := range z.Members {
			if mode, err := m.Mode(); err == nil && mode != "follower" {
				return m, nil
			}
		}
		if time.Now().After(deadline) {
			return nil, errors.New("dbtest: ZooKeeper has had no leader for a minute")
		}
	}
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

// Mode returns "leader", "follower" or "standalone", or an error if the server doesn't
// serve clients.
func (m *ZooKeeperMember) Mode() (string, error) { return m.status("Mode: ", "\n") }

// Version returns the version of the server, such as "3.8.0".
func (m *ZooKeeperMember) Version() (string, error) { return m.status("Zookeeper version: ", "-") }

// status returns what the server's status has after one text and before another.
func (m *ZooKeeperMember) status(after, before string) (string, error) {
	conn, err := net.DialTimeout("tcp", m.Address, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return "", err
	}
	_, value, ok := strings.Cut(string(text), after)
	if !ok {
		return "", errors.New("the server does not serve")
	}
	value, _, _ = strings.Cut(value, before)
	return value, nil
}

// Restart kills all members, lets change do something to each of them, and starts them
// again. It returns when all of them serve clients.
func (z *ZooKeeper) Restart(change func(m *ZooKeeperMember) error) error {
	for _, m := range z.Members {
		if m.runs() {
			if err := m.Kill(); err != nil {
				return err
			}
		}
	}
	for _, m := range z.Members {
		if err := change(m); err != nil {
			return err
		}
		if err := m.StartProcess(); err != nil {
			return err
		}
	}
	return z.Await()
}

// Await waits until all members serve clients.
func (z *ZooKeeper) Await() error {
	for _, m := range z.Members {
		if err := m.warden.await(m.answers); err != nil {
			return fmt.Errorf("dbtest: %w; the log of ZooKeeper ends:\n%s", err, m.warden.log())
		}
	}
	return nil
}

// StartProcess starts a killed server again, and doesn't wait for it: a server serves
// clients only if most of the ensemble runs.
func (m *ZooKeeperMember) StartProcess() error {
	_, err := m.warden.owner.WriteString("\n")
	return err
}

// CopyData copies the data of a server, which must not be writing, to a folder that does
// not exist.
func (m *ZooKeeperMember) CopyData(folder string) error {
	return run("cp", "-a", m.file("data/version-2"), folder)
}

// ReplaceData replaces the data of a killed server with that of CopyData, or removes it
// if folder is empty.
func (m *ZooKeeperMember) ReplaceData(folder string) error {
	data := m.file("data/version-2")
	if err := os.RemoveAll(data); err != nil || folder == "" {
		return err
	}
	return run("cp", "-a", folder, data)
}

func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("dbtest: %s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
