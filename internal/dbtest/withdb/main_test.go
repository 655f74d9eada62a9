package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestCommandFindsServersAndItsStatusIsKept(t *testing.T) {
	t.Setenv("OUT", filepath.Join(t.TempDir(), "out"))
	var printed strings.Builder
	status, err := run(&printed, true, []string{"sh", "-c", `echo "$SNOWKEY_TEST_POSTGRES $SNOWKEY_TEST_MYSQL" >"$OUT"; exit 3`})
	if status != 3 || err != nil {
		t.Fatalf("status %d, error %v, want the command's 3", status, err)
	}
	got := string(dbtest.Must(os.ReadFile(os.Getenv("OUT")))(t))
	want := len(dbtest.Servers(t))
	if dsns, tested := len(strings.Fields(got)), strings.Count(printed.String(), " tested: "); dsns != want || tested != 2*want {
		t.Errorf("the command got %d DSNs, and the tables before and after it name %d servers, want %d:\n%s", dsns, tested, want, &printed)
	}
}

func TestCommandThatDoesNotRun(t *testing.T) {
	t.Setenv("SNOWKEY_TEST_DB", "sqlite")
	status, err := run(io.Discard, false, []string{"./no-such-command"})
	if status != 1 || err == nil || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("status %d, error %v", status, err)
	}
	t.Setenv("SNOWKEY_TEST_DB", "postgres")
	t.Setenv("SNOWKEY_TEST_POSTGRES", "host=127.0.0.1 port=1")
	mark := filepath.Join(t.TempDir(), "ran")
	status, err = run(io.Discard, false, []string{"touch", mark})
	if status == 0 || err == nil {
		t.Errorf("without its server: status %d, error %v", status, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command ran without its server")
	}
}

func TestVersionThatCannotBeFetched(t *testing.T) {
	t.Setenv("SNOWKEY_TEST_CACHE", t.TempDir())
	for _, name := range []string{"SNOWKEY_TEST_POSTGRES", "SNOWKEY_TEST_MYSQL", "PATH"} { // so nothing can be fetched
		t.Setenv(name, "")
	}
	for _, version := range []string{"postgres18", "mysql9", "mariadb11"} {
		t.Setenv("SNOWKEY_TEST_DB", version)
		var printed strings.Builder
		status, err := run(&printed, false, []string{"./no-such-command"})
		if status != 0 || err != nil || !strings.Contains(printed.String(), "not tested\ndbtest: this test needs "+version) {
			t.Errorf("status %d, error %v, printed\n%s", status, err, &printed)
		}
		if status, err := run(io.Discard, true, nil); status == 0 || err == nil {
			t.Errorf("%s is demanded: status %d, error %v", version, status, err)
		}
	}
}

func TestSummaryCountsTestsThatDidNotRun(t *testing.T) {
	notRun := filepath.Join(t.TempDir(), "not run")
	dbtest.NoError(t, os.WriteFile(notRun, []byte("TestCrash\nTestClock\n"), 0o644))
	var printed strings.Builder
	summary(&printed, "The table\n", notRun)
	want := "\nThe table\n2 tests did not run, because a program that they start isn't on this machine. One is TestCrash.\n"
	if printed.String() != want {
		t.Errorf("printed %q, want %q", &printed, want)
	}
}
