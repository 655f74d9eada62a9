package dbtest

import (
	"database/sql"
	"fmt"
	"os"
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
				NoError(t, Must(sql.Open(db.Driver, db.DSN))(t).Ping())
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
	for _, remedy := range []string{"SNOWKEY_TEST_POSTGRES=", "initdb", "docker compose up -d --wait", "SNOWKEY_TEST_DB=sqlite"} {
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
		{"postgres", "host=127.0.0.1 port=1 user=me password=hunter2"},
		{"postgres", "host=127.0.0.1 port=1 user=me password='hunter2"},
		{"mysql", "me:hunter2@tcp(127.0.0.1:1)/x"},
		{"mysql", "me:hunter2@tcp(127.0.0.1:1"},
		{"mysql", "me:hunter2@nonet(127.0.0.1:1)/x"},
	} {
		variable := "SNOWKEY_TEST_" + strings.ToUpper(tc.dialect)
		t.Setenv(variable, tc.dsn)
		_, err := start(tc.dialect)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s=%s: %v", variable, tc.dsn, err)
		}
	}
}

func TestDSNs(t *testing.T) {
	for _, tc := range []struct {
		engine                            engine
		dsn, address, withDatabase, proxy string
	}{
		{postgres, "postgres://me:a%40b@127.0.0.1:5432/old?sslmode=disable", "tcp 127.0.0.1:5432",
			"postgres://me:a%40b@127.0.0.1:5432/new?sslmode=disable", "postgres://me:a%40b@127.0.0.1:7/old?sslmode=disable"},
		{postgres, "postgresql://db:1", "tcp db:1", "postgresql://db:1/new", "postgresql://127.0.0.1:7"},
		{postgres, "host=/run/postgresql user=me dbname=old", "unix /run/postgresql/.s.PGSQL.5432",
			"host=/run/postgresql user=me dbname=old dbname=new", "host=/run/postgresql user=me dbname=old host=127.0.0.1 port=7"},
		{mysql, "me:a@b:c@tcp(db:3306)/old?interpolateParams=true", "tcp db:3306",
			"me:a@b:c@tcp(db:3306)/new?interpolateParams=true&parseTime=true", "me:a@b:c@tcp(127.0.0.1:7)/old?interpolateParams=true&parseTime=true"},
		{mysql, "root@unix(/run/mysqld.sock)/", "unix /run/mysqld.sock", "root@unix(/run/mysqld.sock)/new?parseTime=true", "root@tcp(127.0.0.1:7)/?parseTime=true"},
	} {
		network, address := tc.engine.addressOf(tc.dsn)
		for got, want := range map[string]string{
			network + " " + address:                     tc.address,
			tc.engine.change(tc.dsn, "new", ""):         tc.withDatabase,
			tc.engine.change(tc.dsn, "", "127.0.0.1:7"): tc.proxy,
		} {
			if got != want {
				t.Errorf("%s becomes %s, want %s", tc.dsn, got, want)
			}
		}
	}
}

// emptyMachine makes this process forget the servers that it has started, and find no
// programs.
func emptyMachine(t *testing.T) {
	t.Helper()
	oldRoot, servers := root, shared.servers
	root, shared.servers = t.TempDir(), nil
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
