package dbtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
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
			return append([]string{paths[0], "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
				"--save", "", "--appendonly", "no", "--daemonize", "no"}, args...)
		},
		Answers: answersPing,
	}
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
