package dbtest

import (
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var _ = Each[*testing.B] // Each must accept benchmarks too

func TestDatabaseIsDroppedAtTheEnd(t *testing.T) {
	for _, dialect := range Servers(t) {
		t.Run(dialect, func(t *testing.T) {
			var db DB
			t.Run("its test", func(t *testing.T) {
				db = Open(t, dialect)
				// We leave this open on purpose, since a leaked connection must not
				// keep the database from being dropped.
				conn := Must(sql.Open(db.Driver, db.DSN))(t)
				Exec(t, conn, "CREATE TABLE names (name VARCHAR(20))", "INSERT INTO names VALUES ('❄ 🔑')")
				if got := Rows(t, conn, "SELECT name FROM names"); got[0] != "❄ 🔑" {
					t.Errorf("stored ❄ 🔑, got %s", got)
				}
			})
			if err := db.read("SELECT 1", new(int)); err == nil {
				t.Error("the database is still there after its test")
			}
		})
	}
}

func TestSelection(t *testing.T) {
	for list, want := range map[string]string{
		"":                 "[sqlite postgres mysql]",
		"sqlite":           "[sqlite]",
		"postgres, sqlite": "[postgres sqlite]",
		"redis,postgres":   "[postgres]",
		"mariadb11,sqlite": "[mysql sqlite]",
	} {
		t.Setenv("SNOWKEY_TEST_DB", list)
		if got := fmt.Sprint(Databases(t)); got != want {
			t.Errorf("SNOWKEY_TEST_DB=%s covers %s, want %s", list, got, want)
		}
	}
	for _, name := range []string{"oracle", "postgres8", "9", ""} {
		t.Setenv("SNOWKEY_TEST_DB", "sqlite,"+name)
		want := fmt.Sprintf("%q is not a database; use a list of sqlite, postgres, mysql, redis, ", name)
		if r := record(t, func(t TB) { Databases(t) }); !strings.Contains(r.failure, want) {
			t.Errorf("SNOWKEY_TEST_DB=sqlite,%s: %q", name, r.failure)
		}
	}
	t.Setenv("SNOWKEY_TEST_DB", "sqlite")
	for _, open := range []func(TB){
		func(t TB) { Postgres(t) }, func(t TB) { Killable(t, "mysql") }, func(t TB) { Clocked(t, "mysql") }, func(t TB) { Redis().Start(t) },
	} {
		r := record(t, open)
		if !strings.Contains(r.skip, "SNOWKEY_TEST_DB=sqlite leaves ") || r.failure != "" {
			t.Errorf("skipped with %q, failed with %q", r.skip, r.failure)
		}
	}
}

func TestMissingServerFailsEveryTestAndExplainsOnce(t *testing.T) {
	emptyMachine(t)
	first := record(t, func(t TB) { Postgres(t) })
	second := record(t, func(t TB) { Postgres(t) })
	for _, remedy := range []string{"SNOWKEY_TEST_POSTGRES=", "initdb", "docker-compose.yml", "SNOWKEY_TEST_DB=sqlite"} {
		if !strings.Contains(first.failure, remedy) {
			t.Errorf("the message does not name %s:\n%s", remedy, first.failure)
		}
	}
	if second.failure == "" || strings.Contains(second.failure, "initdb") || first.skip+second.skip != "" {
		t.Errorf("the second failure is %q", second.failure)
	}
}

func TestTestsWithoutTheirProgramsAreCounted(t *testing.T) {
	emptyMachine(t)
	t.Setenv("SNOWKEY_TEST_POSTGRES", "postgres://127.0.0.1/x") // shared servers are no use to these tests
	file := filepath.Join(t.TempDir(), "not run")
	for range 2 {
		for _, test := range []func(TB){
			func(t TB) { Killable(t, "postgres") },
			func(t TB) { Clocked(t, "mysql") },
			func(t TB) { Redis().Start(t) },
			func(t TB) { FilesOf(t, DB{}) },
			func(t TB) { Program(t, "prometheus", "promtool") },
		} {
			strict := os.Getenv("SNOWKEY_TEST_MISSING") == ""
			r := record(t, test)
			if !strings.Contains(r.failure+r.skip, "apt-get install") || strict != (r.skip == "") || strict == (r.failure == "") {
				t.Errorf("strict %v: skipped with %q, failed with %q", strict, r.skip, r.failure)
			}
		}
		t.Setenv("SNOWKEY_TEST_MISSING", file)
	}
	names, err := os.ReadFile(file)
	if want := strings.Repeat(t.Name()+"\n", 5); string(names) != want || err != nil {
		t.Errorf("the file has %q (%v), want %q", names, err, want)
	}
}

func TestServerOfTheEnvironmentIsUsed(t *testing.T) {
	for _, dialect := range Servers(t) {
		t.Run(dialect, func(t *testing.T) {
			s := Must(sharedServer(dialect))(t)
			emptyMachine(t)
			t.Setenv(s.engine.env, s.admin.DSN)
			Open(t, dialect).Connect(t)
			if got := shared.servers[dialect]; got.origin != s.engine.env || got.admin.DSN != s.admin.DSN {
				t.Errorf("%s did not come from %s: %+v", dialect, s.engine.env, got)
			}
			t.Setenv("SNOWKEY_TEST_DB", map[string]string{"postgres": "postgres14", "mysql": "mysql9"}[dialect])
			if _, err := start(dialect); err == nil && !strings.HasPrefix(s.admin.Version, "postgres 14.") && !strings.HasPrefix(s.admin.Version, "mysql 9.") {
				t.Errorf("%s is taken for %s", s, os.Getenv("SNOWKEY_TEST_DB"))
			}
		})
	}
}

func TestNoPasswordIsPrinted(t *testing.T) {
	for _, tc := range []struct{ dialect, dsn string }{
		{"postgres", "postgres://me:hunter2@127.0.0.1:1/x"},
		{"postgres", "postgres://me:hunter2%@127.0.0.1:1/x"},
		{"postgres", "postgres://me:hunter2@127.0.0.1:port/x"},
		{"postgres", "host=127.0.0.1 port=1 user=me password=hunter2"}, // not a URL
		{"mysql", "me:hunter2@tcp(127.0.0.1:1)/x"},
		{"mysql", "me:hunter2@tcp(127.0.0.1:1"},
		{"mysql", "me:hunter2@unix(/run/mysqld.sock)/x"},
	} {
		variable := "SNOWKEY_TEST_" + strings.ToUpper(tc.dialect)
		t.Setenv(variable, tc.dsn)
		_, err := start(tc.dialect)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s=%s: %v", variable, tc.dsn, err)
		}
	}
}

// emptyMachine makes this process forget the servers that it has started, and find no
// programs.
func emptyMachine(t *testing.T) {
	t.Helper()
	oldRoot, servers := root, shared.servers
	root, shared.servers = t.TempDir(), make(map[string]*Server)
	t.Cleanup(func() { root, shared.servers = oldRoot, servers })
	for _, name := range []string{"PATH", "SNOWKEY_TEST_DB", "SNOWKEY_TEST_MISSING", "SNOWKEY_TEST_POSTGRES", "SNOWKEY_TEST_MYSQL"} {
		t.Setenv(name, "")
	}
}

// A recorder is a TB that records how a test ended.
type recorder struct {
	TB
	failure, skip string
}

func (r *recorder) Helper() {}
func (r *recorder) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Skipf(format string, args ...any) {
	r.skip = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func record(t *testing.T, test func(TB)) *recorder {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	return r
}

// TestFetch checks that packages are unpacked into the cache, and not installed.
func TestFetch(t *testing.T) {
	if !Nightly || !mayFetch() {
		t.Skip("make nightly includes this on Debian and Ubuntu")
	}
	t.Setenv("SNOWKEY_TEST_CACHE", t.TempDir())
	const query = "dpkg-query --show"
	before := Must(exec.Command("sh", "-c", query).Output())(t)
	dir := Must(unpacked("", "libfaketime"))(t)
	found, _ := filepath.Glob(filepath.Join(dir, "root/usr/lib/*/faketime/libfaketimeMT.so.1"))
	if after := Must(exec.Command("sh", "-c", query).Output())(t); len(found) != 1 || string(after) != string(before) {
		t.Errorf("the library is in %v; are packages installed: %v", found, string(after) != string(before))
	}
	if _, err := unpacked("", "no-such-package"); err == nil {
		t.Error("a package that does not exist is fetched")
	}
}

func TestCommandFindsServersAndItsStatusIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	t.Setenv("OUT", file)
	var printed strings.Builder
	status, err := Run(&printed, true, []string{"sh", "-c", `echo "$SNOWKEY_TEST_POSTGRES $SNOWKEY_TEST_MYSQL" >"$OUT"; exit 3`})
	if status != 3 || err != nil {
		t.Fatalf("status %d, error %v, want the command's 3", status, err)
	}
	dsns, want := strings.Fields(string(Must(os.ReadFile(file))(t))), len(Servers(t))
	if tested := strings.Count(printed.String(), " tested: "); len(dsns) != want || tested != 2*want {
		t.Errorf("the command got %d DSNs, and the tables before and after it name %d servers, want %d:\n%s", len(dsns), tested, want, &printed)
	}
}

func TestCommandThatDoesNotRun(t *testing.T) {
	t.Setenv("SNOWKEY_TEST_POSTGRES", "postgres://127.0.0.1:1")
	for database, command := range map[string]string{"sqlite": "./no-such-command", "postgres": "true"} { // which has no server
		t.Setenv("SNOWKEY_TEST_DB", database)
		if status, err := Run(io.Discard, false, []string{command}); status != 1 || err == nil {
			t.Errorf("%s with %s: status %d, error %v", command, database, status, err)
		}
	}
}

func TestRunWithoutServers(t *testing.T) {
	emptyMachine(t)
	_, err := Run(io.Discard, true, nil)
	if text := fmt.Sprint(err); !strings.Contains(text, "SNOWKEY_TEST_POSTGRES=") || !strings.Contains(text, "SNOWKEY_TEST_MYSQL=") {
		t.Errorf("a run that demands both servers does not explain both: %v", err)
	}
	var printed strings.Builder
	_, err = Run(&printed, false, []string{"/bin/sh", "-c", `echo "on $SNOWKEY_TEST_DB"; printf 'TestCrash\nTestClock\n' >"$SNOWKEY_TEST_MISSING"`})
	const table = "Databases of this run:\n  sqlite    tested\n  postgres  not tested\n  mysql     not tested\ndbtest: "
	for _, want := range []string{
		table, "\n\non sqlite,redis,etcd,zookeeper\n\n" + table, "SNOWKEY_TEST_POSTGRES=", "SNOWKEY_TEST_MYSQL=",
		"\n2 tests did not run, because a program that they start isn't on this machine. One is TestCrash.\n",
	} {
		if err != nil || !strings.Contains(printed.String(), want) {
			t.Errorf("%v; the output does not have %q:\n%s", err, want, &printed)
		}
	}
	t.Setenv("SNOWKEY_TEST_DB", "sqlite,mysql")
	if _, err = Run(io.Discard, false, nil); err == nil {
		t.Error("a database that SNOWKEY_TEST_DB names may be missing")
	}
	t.Setenv("SNOWKEY_TEST_CACHE", t.TempDir())
	t.Setenv("SNOWKEY_TEST_DB", "mysql9")
	status, err := Run(&printed, false, nil)
	if status != 0 || err != nil || !strings.Contains(printed.String(), "not tested\ndbtest: this test needs mysql9") {
		t.Errorf("status %d, error %v, printed\n%s", status, err, &printed)
	}
	if status, err := Run(io.Discard, true, nil); status == 0 || err == nil {
		t.Errorf("MySQL 9 is demanded: status %d, error %v", status, err)
	}
}
