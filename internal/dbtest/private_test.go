//go:build unix

package dbtest

import (
	"bufio"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
)

func TestSettingsOfPrivateServers(t *testing.T) {
	atNight(t)
	for dialect, queries := range map[string][3]string{
		"postgres": {"SHOW fsync", "SHOW max_connections", "SELECT system_identifier FROM pg_control_system()"},
		"mysql":    {"SELECT CAST(@@innodb_flush_log_at_trx_commit AS CHAR)", "SELECT CAST(@@max_connections AS CHAR)", "SELECT @@server_uuid"},
	} {
		t.Run(dialect, func(t *testing.T) {
			requirePrograms(t, dialect)
			t.Parallel()
			durable := Durable(t, dialect, "max_connections=123")
			fast := []DB{fastServer(t, dialect), fastServer(t, dialect)} // the first may be what the second is a copy of
			read := func(db DB, query string) (value string) {
				t.Helper()
				if err := db.read(query, &value); err != nil {
					t.Fatal(err)
				}
				return value
			}
			flush := read(durable, queries[0]) + " " + read(fast[0], queries[0])
			if want := map[string]string{"postgres": "on off", "mysql": "1 0"}[dialect]; flush != want {
				t.Errorf("%s is %s on a durable server and a fast one, want %s", queries[0], flush, want)
			}
			if got := read(durable, queries[1]); got != "123" {
				t.Errorf("%s is %s, want 123", queries[1], got)
			}
			if fast[0].MariaDB { // it has no identity of its own
				return
			}
			if id := read(fast[0], queries[2]); id == read(fast[1], queries[2]) {
				t.Errorf("two servers are %s", id)
			}
		})
	}
}

// TestServersEndWithTheirOwner runs this test binary as the owner of servers, and kills
// it with SIGKILL so that it has no chance to clean up.
func TestServersEndWithTheirOwner(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		for _, when := range []string{"running", "stopped", "initialising"} {
			if when != "stopped" && !Nightly {
				continue
			}
			t.Run(dialect+" "+when, func(t *testing.T) {
				requirePrograms(t, dialect)
				t.Parallel()
				// We can't use t.TempDir, since the server's account must be able to
				// enter the directory.
				temp, err := os.MkdirTemp("/tmp", "snowkey-owner-")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.RemoveAll(temp) })
				if err := os.Chmod(temp, 0o777); err != nil {
					t.Fatal(err)
				}
				owner := exec.Command(os.Args[0])
				owner.Env = append(os.Environ(), "TMPDIR="+temp, "SNOWKEY_TEST_OWNER="+dialect)
				out, err := owner.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := owner.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { owner.Process.Kill(); owner.Wait() })

				port := ""
				if when == "initialising" {
					await(t, "the server's directory", func() bool {
						files, _ := filepath.Glob(filepath.Join(temp, "*/data/*"))
						return len(files) > 0
					})
				} else {
					line, err := bufio.NewReader(out).ReadString('\n')
					if err != nil {
						t.Fatalf("the owner has no server: %v", err)
					}
					port = strings.TrimSpace(line)
					if !answers(port) {
						t.Fatal("the server does not answer while its owner lives")
					}
				}
				if when == "stopped" {
					if err := syscall.Kill(serverPID(t, temp), syscall.SIGSTOP); err != nil {
						t.Fatal(err)
					}
				}
				if err := owner.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				// The warden only removes the directory once the server has ended.
				await(t, "the end of the server and its directory", func() bool {
					files, err := os.ReadDir(temp)
					return err == nil && len(files) == 0
				})
				if port != "" && answers(port) {
					t.Error("the server outlives its owner")
				}
			})
		}
	}
}

// TestMain runs the tests, or acts as the process that TestServersEndWithTheirOwner
// kills.
func TestMain(m *testing.M) {
	if dialect := os.Getenv("SNOWKEY_TEST_OWNER"); dialect != "" {
		own(dialect)
	}
	mysqldriver.SetLogger(&mysqldriver.NopLogger{}) // it would log every connection that these tests break
	m.Run()
}

// own starts a server, prints its port, and waits for the server to end.
func own(dialect string) {
	e, err := engineOf(dialect)
	if err != nil {
		log.Fatal(err)
	}
	s, err := e.start(Options{fast: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Port)
	select {}
}

func TestFailedServerShowsItsLogAndLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, tc := range []struct{ initialise, serve, want string }{
		{`echo "the disk's full"; exit 1`, "sleep 60", "the disk's full"},
		{"true", "sleep 60", "the initialisation left no data directory: 'sh' '-c' 'true'"},
		{`mkdir "$0"`, `echo "the disk's full"; exit 1`, "the disk's full"},
	} {
		s, err := postgres.run(installation{
			initialise: func(data string) []string { return []string{"sh", "-c", tc.initialise, data} },
			serve:      func(string, string, int, bool) []string { return []string{"sh", "-c", tc.serve} },
			dsn:        func(port int) string { return fmt.Sprint("postgres://127.0.0.1:", port) },
			quit:       "KILL",
		}, Options{})
		if err == nil {
			s.stop()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("initialised by %s, run by %s: the error does not say %q: %v", tc.initialise, tc.serve, tc.want, err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(temp, "*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// fastServer starts a private server that doesn't flush to disk.
func fastServer(t *testing.T, dialect string) DB {
	t.Helper()
	e, err := engineOf(dialect)
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.start(Options{fast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	_, db := s.CreateDatabase(t)
	return db
}

// atNight skips a test that starts several servers, except in make nightly.
func atNight(t *testing.T) {
	t.Helper()
	if !Nightly {
		t.Skip("make nightly includes this")
	}
}

// requirePrograms skips the test on machines that lack the programs of a private
// server.
func requirePrograms(t *testing.T, dialect string) {
	t.Helper()
	requireWanted(t, dialect)
	e, err := engineOf(dialect)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.programs(e.chosen()); err != nil {
		missing(t, err)
	}
}

func serverPID(t *testing.T, temp string) int {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(temp, "*/server"))
	if len(files) != 1 {
		t.Fatalf("the wardens wait for %d servers", len(files))
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func answers(port string) bool {
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func await(t *testing.T, what string, happened func() bool) {
	t.Helper()
	err := Within(time.Minute, func() error {
		if !happened() {
			return fmt.Errorf("waited a minute for %s", what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
