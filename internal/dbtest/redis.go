package dbtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Redis is a Redis server that keeps nothing on disk, unless a test starts it with other
// arguments, such as "--appendonly", "yes". If several set the same option, the last wins.
func Redis(args ...string) Service {
	return Service{
		Name:     "redis",
		Programs: []string{"redis-server"},
		Dirs:     []string{"/usr/local/bin"},
		Packages: "redis-server",
		Account:  "redis",
		Serve: func(paths []string, dir string, port int) []string {
			return slices.Concat(paths, []string{"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
				"--save", "", "--appendonly", "no", "--daemonize", "no"}, args)
		},
		Answers: answersPing,
	}
}

// Valkey is like [Redis], but a Valkey server of Debian's unstable suite, which is fetched.
func Valkey(args ...string) Service {
	s := Redis(args...)
	s.Packages = "-t unstable valkey-server"
	s.fetch = func() ([]string, error) { return ofSuite("unstable", "valkey-server", "usr/bin/valkey-server") }
	return s
}

// Sentinel is a Redis Sentinel that watches a primary called "primary". It takes two of
// them to replace a primary that does not answer for half a second.
func Sentinel(primary string) Service {
	s := Redis()
	s.Serve = func(paths []string, dir string, port int) []string {
		config := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor primary %s 2\n", port, dir, strings.Replace(primary, ":", " ", 1)) +
			"sentinel down-after-milliseconds primary 500\nsentinel failover-timeout primary 60000\n"
		return []string{"sh", "-c", `printf %s "$2" >"$1" && exec "$0" "$1" --sentinel`, paths[0], filepath.Join(dir, "sentinel.conf"), config}
	}
	return s
}

// answersPing sends PING in Redis's protocol. While Redis loads its files, it answers with
// an error, and so it does to a client without a password.
func answersPing(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if line != "+PONG\r\n" && !strings.HasPrefix(line, "-NOAUTH ") {
		return fmt.Errorf("it answers %q", line)
	}
	return nil
}
