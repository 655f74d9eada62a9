//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

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
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
)

func TestDurableServersFlush(t *testing.T) {
	for dialect, query := range map[string]string{
		"postgres": "SHOW fsync",
		"mysql":    "SELECT @@innodb_flush_log_at_trx_commit",
	} {
		t.Run(dialect, func(t *testing.T) {
			requirePrograms(t, dialect)
			read := func(db DB) (value string) {
				if err := db.Connect(t).QueryRow(query).Scan(&value); err != nil {
					t.Fatal(err)
				}
				return value
			}
			durable, fast := read(Durable(t, dialect)), read(fastServer(t, dialect))
			if want := map[string]string{"postgres": "on off", "mysql": "1 0"}[dialect]; durable+" "+fast != want {
				t.Errorf("%s is %s on a durable server and %s on a fast one, want %s", query, durable, fast, want)
			}
		})
	}
}

func TestSettingsReplaceDefaults(t *testing.T) {
	for dialect, query := range map[string]string{"postgres": "SHOW max_connections", "mysql": "SELECT @@max_connections"} {
		t.Run(dialect, func(t *testing.T) {
			requirePrograms(t, dialect)
			var value string
			err := Durable(t, dialect, "max_connections=123").Connect(t).QueryRow(query).Scan(&value)
			if err != nil || value != "123" {
				t.Errorf("%s is %s (%v), want 123", query, value, err)
			}
		})
	}
}

// TestServersEndWithTheirOwner runs this test binary as the owner of servers, and kills
// it with SIGKILL so that it has no chance to clean up.
func TestServersEndWithTheirOwner(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		for _, when := range []string{"running", "stopped", "initialising"} {
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
	srv, err := e.startFound(false)
	if err != nil {
		log.Fatal(err)
	}
	_, port, _ := strings.Cut(srv.dsn, "127.0.0.1:")
	fmt.Println(port[:strings.IndexAny(port, "/)")])
	select {}
}

func TestFailedServerShowsItsLogAndLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	fail := []string{"sh", "-c", `echo "the disk's full"; exit 1`}
	for name, in := range map[string]installation{
		"cannot initialise": {
			initialise: func(string) []string { return fail },
			serve:      func(string, string, int, bool) []string { return []string{"sleep", "60"} },
		},
		"cannot serve": {
			initialise: func(data string) []string { return []string{"mkdir", data} },
			serve:      func(string, string, int, bool) []string { return fail },
		},
	} {
		in.dsn, in.quit = func(port int) string { return "postgres://127.0.0.1:" + strconv.Itoa(port) }, "KILL"
		srv, err := postgres.startPrivate(in, false)
		if err == nil {
			srv.stop()
			t.Fatalf("%s: no error", name)
		}
		if !strings.Contains(err.Error(), "the disk's full") {
			t.Errorf("%s: the error does not show the log: %v", name, err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(temp, "*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOneInstallsAtATime(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var inside, most atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			err := locked(func() error {
				most.Store(max(most.Load(), inside.Add(1)))
				time.Sleep(5 * time.Millisecond)
				inside.Add(-1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d held the lock at once", most.Load())
	}
}

// fastServer starts a private server that doesn't flush to disk.
func fastServer(t *testing.T, dialect string) DB {
	t.Helper()
	e, err := engineOf(dialect)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := e.startFound(false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.stop)
	_, db := srv.createDatabase(t)
	return db
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
	if _, err := e.programs(); err != nil {
		missing(t, err)
	}
}

func serverPID(t *testing.T, temp string) int {
	t.Helper()
	for _, pattern := range []string{"*/data/postmaster.pid", "*/pid"} {
		files, _ := filepath.Glob(filepath.Join(temp, pattern))
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.Fields(string(content))[0])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("the server has no pid file")
	return 0
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
	for deadline := time.Now().Add(time.Minute); !happened(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}
