//go:build unix

package dbtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
)

// TestMain runs the tests, or acts as the process that TestServersEndWithTheirOwner
// kills: it starts a server, prints its port and process, and waits.
func TestMain(m *testing.M) {
	if dialect := os.Getenv("SNOWKEY_TEST_OWNER"); dialect != "" {
		s, err := engineOf(dialect).start(Options{fast: true})
		if err == nil {
			var pid []byte
			pid, err = os.ReadFile(s.File("server"))
			fmt.Printf("%d %s\n", s.Port, pid)
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		select {}
	}
	mysqldriver.SetLogger(&mysqldriver.NopLogger{}) // it would log every connection that these tests break
	m.Run()
}

// TestServersEndWithTheirOwner runs this test binary as the owner of servers, and kills
// it with SIGKILL so that it has no chance to clean up.
func TestServersEndWithTheirOwner(t *testing.T) {
	for _, when := range []string{"stopped", "initialising"} {
		if when == "initialising" && !Nightly {
			continue
		}
		for _, dialect := range Servers(t) {
			t.Run(dialect+", "+when, func(t *testing.T) { endsWithOwner(t, dialect, when) })
		}
	}
}

func endsWithOwner(t *testing.T, dialect, when string) {
	t.Parallel()
	if _, err := engineOf(dialect).programs(Version(dialect)); err != nil {
		missing(t, err)
	}
	// We can't use t.TempDir, since the server's account must be able to
	// enter the directory.
	temp := Must(os.MkdirTemp("/tmp", "snowkey-owner-"))(t)
	t.Cleanup(func() { os.RemoveAll(temp) })
	NoError(t, os.Chmod(temp, 0o777))
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), "TMPDIR="+temp, "SNOWKEY_TEST_OWNER="+dialect)
	out := Must(owner.StdoutPipe())(t)
	NoError(t, owner.Start())
	t.Cleanup(func() { owner.Process.Kill(); owner.Wait() })

	var port, pid int
	answers := func() bool {
		conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		return err == nil && conn.Close() == nil
	}
	if when == "initialising" {
		Await(t, "the server's directory", func() bool {
			files, _ := filepath.Glob(filepath.Join(temp, "*/data/*"))
			return len(files) > 0
		})
	} else if _, err := fmt.Fscan(out, &port, &pid); err != nil || !answers() {
		t.Fatalf("the owner has no server, or it does not answer: %v", err)
	}
	if when == "stopped" {
		NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	NoError(t, owner.Process.Kill())
	// The warden only removes the directory once the server has ended.
	Await(t, "the end of the server and its directory", func() bool {
		files, err := os.ReadDir(temp)
		return err == nil && len(files) == 0
	})
	if port != 0 && answers() {
		t.Error("the server outlives its owner")
	}
}

func TestFailedServerShowsItsLogAndLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, tc := range []struct{ initialise, serve, want string }{
		{`echo "the disk's full"; exit 1`, "sleep 60", "the disk's full"},
		{"true", "sleep 60", "the initialisation left no data directory: 'sh' '-c' 'true'"},
		{`mkdir "$0"`, `echo "the disk's full"; exit 1`, "the disk's full"},
	} {
		p, err := Service{
			Name: "nothing", initialise: func(data string) []string { return []string{"sh", "-c", tc.initialise, data} },
			Serve:   func([]string, string, int) []string { return []string{"sh", "-c", tc.serve} },
			Answers: func(context.Context, string) error { return errors.New("no answer") },
		}.launch(nil)
		if err == nil {
			p.stop()
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

func TestKilledServerStartsAgainWithWhatItCommitted(t *testing.T) {
	for _, dialect := range Servers(t) {
		t.Run(dialect, func(t *testing.T) { startsAgain(t, dialect) })
	}
}

func startsAgain(t *testing.T, dialect string) {
	t.Parallel()
	db, process := Clocked(t, dialect)
	Exec(t, db.Connect(t), "CREATE TABLE kept (n INT)")
	for n := range 2 {
		Exec(t, db.Connect(t), "INSERT INTO kept VALUES (1)") // an old connection would only learn of the server's death when it's used
		NoError(t, errors.Join(process.SetClock(time.Duration(n)*time.Hour), process.Kill()))
		if err := db.read("SELECT 1", new(int)); err == nil {
			t.Error("the killed server takes connections")
		}
		NoError(t, process.Start())
		var rows int
		if err := db.read("SELECT COUNT(*) FROM kept", &rows); err != nil || rows != n+1 {
			t.Errorf("%d rows (%v), want %d", rows, err, n+1)
		}
	}
	query := map[string]string{
		"postgres": "SELECT CAST(extract(epoch FROM clock_timestamp()) AS bigint)",
		"mysql":    "SELECT TIMESTAMPDIFF(SECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP())",
	}[dialect]
	var seconds int64
	NoError(t, db.read(query, &seconds))
	if ahead := time.Until(time.Unix(seconds, 0)); ahead < 50*time.Minute || ahead > 70*time.Minute {
		t.Errorf("the clock is %v ahead, want an hour", ahead)
	}
	NoError(t, process.Kill()) // a test may end while its server is dead
}
