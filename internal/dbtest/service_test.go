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
	line, err := ask(t.Context(), address, command+"\r\n", func(r io.Reader) (string, error) {
		in := bufio.NewReader(r)
		line, err := in.ReadString('\n')
		if err == nil && line[0] == '$' && line != "$-1\r\n" {
			return in.ReadString('\n')
		}
		return line, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func TestService(t *testing.T) {
	var r *Running
	t.Run("user", func(t *testing.T) {
		r = Redis("--appendonly", "yes", "--appendfsync", "always").StartClocked(t)
		if got := redisCommand(t, r.Address, "SET a 1"); got != "+OK" {
			t.Fatal(got)
		}
		if err := r.Clock.Set(time.Hour); err != nil {
			t.Fatal(err)
		}
		var seconds int64
		if _, err := fmt.Sscan(redisCommand(t, r.Address, "EVAL \"return redis.call('TIME')[1]\" 0"), &seconds); err != nil {
			t.Fatal(err)
		}
		if ahead := time.Until(time.Unix(seconds, 0)); ahead < 50*time.Minute || ahead > 70*time.Minute {
			t.Errorf("the clock is %v ahead, want an hour", ahead)
		}
		if err := r.Kill(); err != nil {
			t.Fatal(err)
		}
		if conn, err := net.Dial("tcp", r.Address); err == nil {
			conn.Close()
			t.Error("a killed server accepts connections")
		}
		if err := r.Process.Start(); err != nil {
			t.Fatal(err)
		}
		if got := redisCommand(t, r.Address, "GET a"); got != "1" {
			t.Errorf("after the restart a is %q, want 1", got)
		}
		if err := r.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := answersPing(ctx, r.Address); err == nil {
			t.Error("a stopped server answers")
		}
	})
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

func TestKilledServerStartsAgainWithWhatItCommitted(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			requirePrograms(t, dialect)
			t.Parallel()
			db, process, clock := Clocked(t, dialect)
			mustExec(t, db.Connect(t), "CREATE TABLE kept (n INT)")
			for n := range 2 {
				// Use a new connection, since an old one only learns of the server's
				// death when it's used.
				mustExec(t, db.Connect(t), insertRow)
				if err := clock.Set(time.Duration(n) * time.Hour); err != nil {
					t.Fatal(err)
				}
				if err := process.Kill(); err != nil {
					t.Fatal(err)
				}
				if err := db.read("SELECT 1", new(int)); err == nil {
					t.Error("the killed server takes connections")
				}
				if err := process.Start(); err != nil {
					t.Fatal(err)
				}
				if rows := count(t, db.Connect(t)); rows != n+1 {
					t.Errorf("%d rows, want %d", rows, n+1)
				}
			}
			query := map[string]string{
				"postgres": "SELECT CAST(extract(epoch FROM clock_timestamp()) AS bigint)",
				"mysql":    "SELECT TIMESTAMPDIFF(SECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP())",
			}[dialect]
			var seconds int64
			if err := db.read(query, &seconds); err != nil {
				t.Fatal(err)
			}
			if ahead := time.Until(time.Unix(seconds, 0)); ahead < 50*time.Minute || ahead > 70*time.Minute {
				t.Errorf("the clock is %v ahead, want an hour", ahead)
			}
			if err := process.Kill(); err != nil { // a test may end while its server is dead
				t.Error(err)
			}
		})
	}
}
