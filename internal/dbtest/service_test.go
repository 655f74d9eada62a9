//go:build unix

package dbtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// redisCommand sends a command and returns the first line of the reply. If that has the
// length of a string, it returns the string.
func redisCommand(t *testing.T, address, command string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err == nil && line[0] == '$' && line != "$-1\r\n" {
		line, err = in.ReadString('\n')
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func TestServiceIsKilledAndStartedAgain(t *testing.T) {
	r := Redis("--appendonly", "yes", "--appendfsync", "always").Start(t)
	if got := redisCommand(t, r.Address, "SET a 1"); got != "+OK" {
		t.Fatal(got)
	}
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", r.Address); err == nil {
		conn.Close()
		t.Error("a killed server accepts connections")
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	if got := redisCommand(t, r.Address, "GET a"); got != "1" {
		t.Errorf("after the restart a is %q, want 1", got)
	}
}

func TestStoppedServiceDoesNotAnswer(t *testing.T) {
	r := Redis().Start(t)
	if err := r.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := answersPing(ctx, r.Address); err == nil {
		t.Error("a stopped server answers")
	}
	if err := r.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := answersPing(t.Context(), r.Address); err != nil {
		t.Error(err)
	}
}

func TestClockOfAServiceIsSet(t *testing.T) {
	r := Redis().StartClocked(t)
	if err := r.Clock.Set(time.Hour); err != nil {
		t.Fatal(err)
	}
	var seconds int64
	if _, err := fmt.Sscan(redisCommand(t, r.Address, "EVAL \"return redis.call('TIME')[1]\" 0"), &seconds); err != nil {
		t.Fatal(err)
	}
	if ahead := time.Until(time.Unix(seconds, 0)); ahead < 59*time.Minute || ahead > 61*time.Minute {
		t.Errorf("the clock is %v ahead, want an hour", ahead)
	}
}

func TestServiceEndsWithItsTest(t *testing.T) {
	var r *Running
	t.Run("user", func(t *testing.T) { r = Redis().Start(t) })
	if r == nil {
		t.Skip("not run")
	}
	if conn, err := net.Dial("tcp", r.Address); err == nil {
		conn.Close()
		t.Error("the server outlives its test")
	}
	if _, err := os.Stat(r.Dir); !os.IsNotExist(err) {
		t.Errorf("its files are left: %v", err)
	}
}
