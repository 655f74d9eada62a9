package hostile

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A disk is where a server writes its log. Tests can stall it.
type disk struct {
	dir string // must be readable by the server's account
}

// stallable starts a server with a log that can be stalled. This is done by a library
// that gets loaded into the server and holds back writes and flushes of the log, which
// means that we need a C compiler.
func stallable(t *testing.T, dialect, log string, options ...string) (dbtest.DB, *dbtest.Process, disk) {
	t.Helper()
	wants(t, dialect)
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) on this machine: the log of a server can only be stalled with one (apt-get install gcc libc6-dev)")
	}
	// We can't use t.TempDir, because no other account can enter it.
	dir, err := os.MkdirTemp("", "snowkey-hostile-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d := disk{dir}
	library := d.file("hold.so")
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-O2", "-o", library, filepath.Join("testdata", "hold.c"), "-ldl").CombinedOutput(); err != nil {
		t.Skipf("the C compiler cannot compile testdata/hold.c: %v\n%s", err, out)
	}
	db, process := dbtest.WithCommand(t, dialect, func(_ string, command []string) []string {
		return append(append([]string{
			"env", "LD_PRELOAD=" + library, "HOLD_PATH=" + log, "HOLD_WHILE=" + d.file("hold"),
		}, command...), options...)
	})
	if os.Getenv("SNOWKEY_TEST_"+strings.ToUpper(dialect)) != "" {
		if shared := dbtest.Open(t, dialect); shared.MariaDB != db.MariaDB {
			t.Skipf("this run is about %s, of which no private server can be started here (the programs found are %s)", shared.Version, db.Version)
		}
	}
	return db, process, d
}

func (d disk) file(name string) string { return filepath.Join(d.dir, name) }

// stall stops all writes to the log, until crash.
func (d disk) stall(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(d.file("hold"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// crash kills the server, so that anything still waiting for the log is lost, and then
// starts it again with a log that works.
func (d disk) crash(t *testing.T, process *dbtest.Process) {
	t.Helper()
	if err := errors.Join(process.Kill(), os.Remove(d.file("hold")), process.Start()); err != nil {
		t.Fatal(err)
	}
}

// TestStalledLog kills a server whose log hasn't reached the disk for a while. If there
// is no binary log, a server shows commits to readers before it flushes its log, and
// then loses them in the crash. Program A, whose clock is ahead, issues ids while the
// log is stalled. After that, program B, whose clock is behind, claims the worker
// number. Both clocks are within MaxClockSkew.
func TestStalledLog(t *testing.T) {
	// The redo log is called ib_logfile0 in MariaDB, and #ib_redo0 in MySQL.
	for _, tc := range []struct {
		name, dialect, log string
		options            []string
	}{
		{"mysql", "mysql", "ib_", nil},
		{"mysql with a binary log", "mysql", "ib_", []string{"--log-bin=binlog", "--sync-binlog=1", "--server-id=7"}},
		{"mysql with a stalled binary log", "mysql", "binlog.0", []string{"--log-bin=binlog", "--sync-binlog=1", "--server-id=7"}},
		{"postgres", "postgres", "pg_wal", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			db, process, disk := stallable(t, tc.dialect, tc.log, tc.options...)
			through, link := db.Through(t)
			execAll(t, db, "CREATE TABLE of_the_application (n INT)")

			const skew = time.Second
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			a := &program{name: "A", dialect: db.Dialect, db: through.Connect(t), clock: 900 * time.Millisecond, skew: skew}
			b := &program{name: "B", dialect: db.Dialect, db: db.Connect(t), clock: -900 * time.Millisecond, skew: skew}
			var wg sync.WaitGroup
			defer wg.Wait()
			withA, endA := context.WithCancel(ctx)
			defer endA()
			wg.Go(func() { a.run(withA, t, time.Minute) })
			for a.issued() == 0 {
				if sleep(ctx, 10*time.Millisecond); ctx.Err() != nil {
					t.Fatal("program A has issued no id in a minute")
				}
			}
			sleep(ctx, time.Second)

			disk.stall(t)
			began, before := time.Now(), a.issued()
			commits, endCommits := context.WithTimeout(ctx, time.Second)
			_, err := db.Connect(t).ExecContext(commits, "INSERT INTO of_the_application VALUES (1)")
			endCommits()
			if err == nil {
				t.Fatal("a commit was acknowledged while the log stalled: the test stalls nothing")
			}
			sleep(ctx, 7*time.Second-time.Since(began))
			t.Logf("program A issued %d ids while the log stalled", a.issued()-before)
			link.Cut() // program A continues with what it has been granted
			disk.crash(t, process)

			b.run(ctx, t, 4*time.Second)
			if b.err != nil {
				t.Fatalf("program B: Open failed after %v: %v", b.opened, b.err)
			}
			endA()
			wg.Wait()
			check(t, a, b)
		})
	}
}
