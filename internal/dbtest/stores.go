package dbtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Redis is a Redis server that keeps nothing on disk, unless a test starts it with other
// arguments, such as "--appendonly", "yes". If several set the same option, the last wins.
func Redis(args ...string) Service {
	return Service{
		Name:     "redis",
		Programs: []string{"redis-server", "valkey-server"},
		Packages: "redis-server",
		Account:  "redis",
		Serve: func(command []string, dir string, port int) []string {
			return slices.Concat(command, []string{"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
				"--save", "", "--appendonly", "no", "--daemonize", "no"}, args)
		},
		Answers: answersPing,
	}
}

// Valkey is like [Redis], but a Valkey server of Debian's unstable suite, which is fetched.
func Valkey(args ...string) Service {
	s := Redis(args...)
	s.Packages = "-t unstable valkey-server"
	s.find = func() ([]string, error) { return ofSuite("unstable", "valkey-server", "usr/bin/valkey-server") }
	return s
}

// answersPing sends PING in Redis's protocol. While Redis loads its files, it answers with
// an error, and so it does to a client without a password.
func answersPing(ctx context.Context, address string) error {
	line, err := ask(ctx, address, "PING\r\n", func(r io.Reader) (string, error) { return bufio.NewReader(r).ReadString('\n') })
	if err == nil && line != "+PONG\r\n" && !strings.HasPrefix(line, "-NOAUTH ") {
		err = fmt.Errorf("it answers %q", line)
	}
	return err
}

// ask sends a request on a new connection, and returns what read reads.
func ask(ctx context.Context, address, request string, read func(io.Reader) (string, error)) (reply string, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return "", err
	}
	return read(conn)
}

// Etcd is a server of etcd, whose Address is the one for clients. It counts as started
// once it listens, so the caller must wait for a leader. Options replace those before
// them that have the same name.
func Etcd(options ...string) Service {
	return Service{
		Name:     "etcd",
		Programs: []string{"etcd"},
		Packages: "etcd-server",
		Account:  "etcd",
		Serve: func(command []string, dir string, port int) []string {
			client := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
			const peer = "http://127.0.0.1:0"
			return slices.Concat(command, []string{"--data-dir", dir, "--log-level", "error",
				"--listen-client-urls", client, "--advertise-client-urls", client,
				"--initial-cluster", "default=" + peer, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer}, options)
		},
		Answers: Listens,
	}
}

// Listens is a [Service.Answers] of servers that don't serve clients yet when they are started.
func Listens(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// ZooKeeper is an ensemble of one server, which has elections, too.
func ZooKeeper() Service {
	s := ZooKeeperMember(1, "")
	s.Serve = func(command []string, dir string, port int) []string {
		peer, _ := freePort() // if there's none, the server says so
		election, _ := freePort()
		config := fmt.Sprintf("standaloneEnabled=false\nserver.1=127.0.0.1:%d:%d\n", peer, election)
		return ZooKeeperMember(1, config).Serve(command, dir, port)
	}
	return s
}

// ZooKeeperMember is a server with an id and some more lines of configuration. Without
// any, it is a standalone server. It does not flush to disk, so it keeps its data if it is
// killed, but not if the machine loses power.
func ZooKeeperMember(id int, config string) Service {
	return Service{
		Name:     "zookeeper",
		Programs: []string{"java and the classes of ZooKeeper"},
		Packages: "default-jre-headless libzookeeper-java",
		Account:  "zookeeper",
		find:     zooKeeperPrograms,
		Serve: func(command []string, dir string, port int) []string {
			config := fmt.Sprintf("tickTime=500\ninitLimit=20\nsyncLimit=4\nmaxClientCnxns=0\nclientPortAddress=127.0.0.1\nclientPort=%d\ndataDir=%s\n%s", port, dir, config)
			file := filepath.Join(dir, "zoo.cfg")
			command = slices.Concat(command,
				[]string{"-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.admin.enableServer=false",
					"-Dzookeeper.forceSync=no", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
					"org.apache.zookeeper.server.quorum.QuorumPeerMain", file})
			return WithFile(filepath.Join(dir, "myid"), strconv.Itoa(id), WithFile(file, config, command...)...)
		},
		Answers: func(_ context.Context, address string) error {
			_, err := ZooKeeperStatus(address, "Mode: ", "\n")
			return err
		},
	}
}

// ZooKeeperStatus returns what a server's status has after one text and before another,
// such as "Mode: " and "\n". It is an error if the server doesn't serve clients.
func ZooKeeperStatus(address, after, before string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	text, err := ask(ctx, address, "srvr", func(r io.Reader) (string, error) { b, err := io.ReadAll(r); return string(b), err })
	if err != nil {
		return "", err
	}
	_, value, ok := strings.Cut(text, after)
	if !ok {
		return "", errors.New("the server does not serve")
	}
	value, _, _ = strings.Cut(value, before)
	return value, nil
}

// zooKeeperPrograms returns the command that runs a class of ZooKeeper.
func zooKeeperPrograms() (command []string, err error) {
	err = obtain("default-jre-headless", "java", func() bool {
		command = slices.DeleteFunc(candidates("java"), func(path string) bool {
			return versionOf(path, "-version") == "" // macOS has a java that only says where to get one
		})
		return len(command) > 0
	})
	if err != nil {
		return nil, err
	}
	const packages, installed = "libzookeeper-java", "/usr/share/java"
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	// The manifest of zookeeper.jar names the other files, but only in the folder of packages
	// that are installed. SLF4J takes the first of its implementations.
	unpacked := filepath.Join(cache, packages, "root", installed)
	path := ""
	for _, folder := range []string{installed, unpacked} {
		path += fmt.Sprintf("%s/zookeeper.jar:%[1]s/zookeeper-jute.jar:%[1]s/slf4j-simple.jar:", folder)
	}
	err = obtain(packages, "the classes of ZooKeeper", func() bool {
		_, err1 := os.Stat(installed + "/zookeeper.jar")
		_, err2 := os.Stat(unpacked + "/zookeeper.jar")
		return err1 == nil || err2 == nil
	})
	return []string{command[0], "-cp", path + unpacked + "/*"}, err
}
