package dbtest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
	t.Setenv("SNOWKEY_TEST_DB", "sqlite")
	status, err := Run(io.Discard, false, []string{"./no-such-command"})
	if status != 1 || err == nil || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("status %d, error %v", status, err)
	}
	t.Setenv("SNOWKEY_TEST_DB", "postgres")
	t.Setenv("SNOWKEY_TEST_POSTGRES", "host=127.0.0.1 port=1")
	mark := filepath.Join(t.TempDir(), "ran")
	status, err = Run(io.Discard, false, []string{"touch", mark})
	if status == 0 || err == nil {
		t.Errorf("without its server: status %d, error %v", status, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command ran without its server")
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
	for _, version := range []string{"postgres18", "mysql9", "mariadb11"} {
		t.Setenv("SNOWKEY_TEST_DB", version)
		printed.Reset()
		status, err := Run(&printed, false, nil)
		if status != 0 || err != nil || !strings.Contains(printed.String(), "not tested\ndbtest: this test needs "+version) {
			t.Errorf("status %d, error %v, printed\n%s", status, err, &printed)
		}
		if status, err := Run(io.Discard, true, nil); status == 0 || err == nil {
			t.Errorf("%s is demanded: status %d, error %v", version, status, err)
		}
	}
}
