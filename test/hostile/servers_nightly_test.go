//go:build nightly

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

// TestNightlyStalledLog kills a server whose log hasn't reached the disk for a while. If there
// is no binary log, a server shows commits to readers before it flushes its log, and
// then loses them in the crash. Program A, whose clock is ahead, issues ids while the
// log is stalled. After that, program B, whose clock is behind, claims the worker
// number. Both clocks are within MaxClockSkew.
func TestNightlyStalledLog(t *testing.T) {
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
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			a := &program{name: "A", dialect: db.Dialect, db: through.Connect(t), clock: 900 * time.Millisecond, skew: skew}
			b := &program{name: "B", dialect: db.Dialect, db: db.Connect(t), clock: -900 * time.Millisecond, skew: skew}
			endA := a.start(ctx, t)

			disk.stall(t)
			began, before := time.Now(), a.issued()
			commits, endCommits := context.WithTimeout(ctx, time.Second)
			_, err := db.Connect(t).ExecContext(commits, "INSERT INTO of_the_application VALUES (1)")
			endCommits()
			if err == nil {
				t.Fatal("a commit was acknowledged while the log stalled: the test stalls nothing")
			}
			sleep(ctx, ttl+skew+time.Second-time.Since(began)) // until the lease has expired
			t.Logf("program A issued %d ids while the log stalled", a.issued()-before)
			link.Cut() // program A continues with what it has been granted
			disk.crash(t, process)

			if b.run(ctx, b.beyond(a)); b.err != nil {
				t.Fatalf("program B: Open failed after %v: %v", b.opened, b.err)
			}
			endA()
			check(t, a, b)
		})
	}
}

// TestNightlyBinlogStatement lets two programs share a worker number on a server that logs
// statements, and therefore refuses the statements of READ COMMITTED transactions.
func TestNightlyBinlogStatement(t *testing.T) {
	server := durableMySQL(t)
	if !logsBinary(t, server) {
		if !server.MariaDB {
			t.Skipf("%s has no binary log, and only a private MariaDB can be started with one", server.Version)
		}
		server, _ = dbtest.WithCommand(t, "mysql", func(_ string, command []string) []string {
			return append(command, "--log-bin=binlog", "--sync-binlog=1", "--server-id=7")
		})
	}
	var rows []row
	for _, level := range []string{"READ COMMITTED", "READ UNCOMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
		r := row{name: "isolation " + level, want: worksOrRefused, names: "binlog_format", session: session{init: []string{
			"SET SESSION binlog_format = 'STATEMENT'", "SET SESSION TRANSACTION ISOLATION LEVEL " + level,
		}}}
		if level != "READ COMMITTED" && level != "READ UNCOMMITTED" {
			r.want = works
		}
		rows = append(rows, r)
	}
	rows = append(rows,
		row{name: "autocommit=0", session: session{init: []string{"SET SESSION binlog_format = 'STATEMENT'", "SET autocommit = 0"}}},
		row{name: "binlog_format=MIXED", session: session{init: []string{"SET SESSION binlog_format = 'MIXED'"}}},
	)
	each(t, rows, func(r row) string { return r.name }, func(t *testing.T, r row) { r.test(t, server) })
}

func logsBinary(t *testing.T, db dbtest.DB) (yes bool) {
	t.Helper()
	if err := db.Connect(t).QueryRow("SELECT @@log_bin").Scan(&yes); err != nil {
		t.Fatal(err)
	}
	return yes
}

// beyond is enough when the program issues ids that are larger than those of another.
func (p *program) beyond(other *program) func() bool {
	return func() bool {
		_, last := p.ends()
		_, others := other.ends()
		return last > others
	}
}

func forever() bool { return false }

// start runs p until stop is called or ctx ends, and returns when it has issued an id.
func (p *program) start(ctx context.Context, t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	wg.Go(func() { p.run(ctx, forever) })
	for p.issued() == 0 {
		if sleep(ctx, 10*time.Millisecond); ctx.Err() != nil {
			t.Fatalf("program %s has issued no id in a minute", p.name)
		}
	}
	return stop
}
