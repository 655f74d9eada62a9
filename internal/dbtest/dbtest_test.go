package dbtest

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var _ = Each[*testing.B] // Each must accept benchmarks too

func TestDatabaseIsDroppedAtTheEnd(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			requireWanted(t, dialect)
			var dsn, driver string
			t.Run("its test", func(t *testing.T) {
				db := Open(t, dialect)
				dsn, driver = db.DSN, db.Driver
				// We leave this open on purpose, since a leaked connection must not
				// keep the database from being dropped.
				leak, err := sql.Open(driver, dsn)
				if err != nil || leak.Ping() != nil {
					t.Fatal(err, leak.Ping())
				}
			})
			late, err := sql.Open(driver, dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer late.Close()
			if err := late.Ping(); err == nil {
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
	} {
		t.Setenv("SNOWKEY_TEST_DB", list)
		if got := fmt.Sprint(Databases(t)); got != want {
			t.Errorf("SNOWKEY_TEST_DB=%s covers %s, want %s", list, got, want)
		}
	}
	t.Setenv("SNOWKEY_TEST_DB", "sqlite,oracle")
	if r := record(t, func(t TB) { Databases(t) }); !strings.Contains(r.failure, `"oracle" is not a database`) {
		t.Errorf("SNOWKEY_TEST_DB=sqlite,oracle: %q", r.failure)
	}
}

func TestDatabasesLeftOutAreSkippedByName(t *testing.T) {
	t.Setenv("SNOWKEY_TEST_DB", "sqlite")
	for _, open := range []func(TB){
		func(t TB) { Postgres(t) }, func(t TB) { MySQL(t) }, func(t TB) { Redis().Start(t) },
	} {
		r := record(t, open)
		if !strings.Contains(r.skip, "SNOWKEY_TEST_DB=sqlite leaves ") || r.failure != "" {
			t.Errorf("skipped with %q, failed with %q", r.skip, r.failure)
		}
	}
}

func TestMissingServerFailsEveryTestAndExplainsOnce(t *testing.T) {
	replaceMachine(t, machine{
		getenv:     func(string) string { return "" },
		find:       func([]string, ...string) ([]string, bool) { return nil, false },
		mayInstall: func() bool { return false },
		mayFetch:   func() bool { return false },
		docker:     func() bool { return false },
	})
	t.Setenv("SNOWKEY_TEST_DB", "")
	t.Setenv("SNOWKEY_TEST_MISSING", "")
	first := record(t, func(t TB) { Postgres(t) })
	second := record(t, func(t TB) { Postgres(t) })
	for _, remedy := range []string{"SNOWKEY_TEST_POSTGRES=", "initdb", "docker compose up -d --wait", "SNOWKEY_TEST_DB=sqlite"} {
		if !strings.Contains(first.failure, remedy) {
			t.Errorf("the message does not name %s:\n%s", remedy, first.failure)
		}
	}
	if second.failure == "" || strings.Contains(second.failure, "initdb") {
		t.Errorf("the second failure is %q", second.failure)
	}
	if first.skip != "" || second.skip != "" {
		t.Error("a missing server skips the test")
	}
	for _, dialect := range []string{"postgres", "mysql"} {
		if r := record(t, func(t TB) { Durable(t, dialect) }); !strings.Contains(r.failure, "apt-get install") {
			t.Errorf("durable %s: %q", dialect, r.failure)
		}
	}

	_, _, stop, err := Environ(true)
	stop()
	if err == nil || strings.Count(err.Error(), "three ways out") != 1 ||
		!strings.Contains(err.Error(), "SNOWKEY_TEST_POSTGRES") || !strings.Contains(err.Error(), "SNOWKEY_TEST_MYSQL") {
		t.Errorf("Environ does not explain both missing servers in one message: %v", err)
	}

	env, databases, stop, err := Environ(false)
	stop()
	if err != nil || !slices.Equal(env, []string{"SNOWKEY_TEST_DB=sqlite,redis,etcd,zookeeper"}) || len(databases) != 3 ||
		databases[0].Missing != nil || databases[1].Missing == nil || databases[2].Missing == nil {
		t.Errorf("without servers a run that demands none has %v of %+v, %v", env, databases, err)
	}
	t.Setenv("SNOWKEY_TEST_DB", "sqlite,mysql")
	if _, _, stop, err = Environ(false); err == nil {
		stop()
		t.Error("a database that SNOWKEY_TEST_DB names may be missing")
	}
}

func TestTestsWithoutTheirProgramsAreCounted(t *testing.T) {
	replaceMachine(t, machine{
		getenv:     func(string) string { return "postgres://127.0.0.1/x" }, // shared servers are no use to these tests
		find:       func([]string, ...string) ([]string, bool) { return nil, false },
		mayInstall: func() bool { return false },
		mayFetch:   func() bool { return false },
	})
	t.Setenv("SNOWKEY_TEST_DB", "")
	t.Setenv("SNOWKEY_TEST_MISSING", "")
	file := filepath.Join(t.TempDir(), "not run")
	for range 2 {
		for _, test := range []func(TB){
			func(t TB) { Killable(t, "postgres") },
			func(t TB) { Clocked(t, "mysql") },
			func(t TB) { Redis().Start(t) },
			func(t TB) { FilesOf(t, DB{}) },
			func(t TB) { DB{}.ThroughPgBouncer(t, "session") },
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

func mustExec(t *testing.T, conn *sql.DB, statement string) {
	t.Helper()
	if _, err := conn.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// replaceMachine makes this process forget the servers that it has started, and believe
// that it runs on m.
func replaceMachine(t *testing.T, m machine) {
	t.Helper()
	oldMachine, oldServers, oldMissing := thisMachine, shared.servers, shared.missing
	thisMachine, shared.servers, shared.missing = m, nil, nil
	t.Cleanup(func() { thisMachine, shared.servers, shared.missing = oldMachine, oldServers, oldMissing })
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
