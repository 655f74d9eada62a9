package main

import (
	"errors"
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
	_, status, err := run(&printed, true, []string{"sh", "-c", `echo "$SNOWKEY_TEST_POSTGRES $SNOWKEY_TEST_MYSQL" >"$OUT"; exit 3`})
	if status != 3 || err != nil {
		t.Fatalf("status %d, error %v, want the command's 3", status, err)
	}
	got, err := os.ReadFile(os.Getenv("OUT"))
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, dialect := range dbtest.Databases(t) {
		if dialect != "sqlite" {
			want++
		}
	}
	if dsns, tested := len(strings.Fields(string(got))), strings.Count(printed.String(), " tested: "); dsns != want || tested != want {
		t.Errorf("the command got %d DSNs, and the table names %d servers, want %d:\n%s", dsns, tested, want, &printed)
	}
}

func TestCommandThatDoesNotRun(t *testing.T) {
	t.Setenv("SNOWKEY_TEST_DB", "sqlite")
	_, status, err := run(io.Discard, false, []string{"./no-such-command"})
	if status != 1 || err == nil || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("status %d, error %v", status, err)
	}
	t.Setenv("SNOWKEY_TEST_DB", "postgres")
	t.Setenv("SNOWKEY_TEST_POSTGRES", "host=127.0.0.1 port=1")
	mark := filepath.Join(t.TempDir(), "ran")
	_, status, err = run(io.Discard, false, []string{"touch", mark})
	if status == 0 || err == nil {
		t.Errorf("without its server: status %d, error %v", status, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command ran without its server")
	}
}

func TestCommandRunsOnEachServer(t *testing.T) {
	for _, name := range []string{"SNOWKEY_TEST_DB", "SNOWKEY_TEST_POSTGRES", "SNOWKEY_TEST_POSTGRES_VERSION", "SNOWKEY_TEST_MYSQL", "SNOWKEY_TEST_MYSQL_VERSION"} {
		t.Setenv(name, os.Getenv(name)) // runOnEach changes them, and t.Setenv restores them
	}
	t.Setenv("SNOWKEY_TEST_CACHE", t.TempDir())
	t.Setenv("PATH", "") // so nothing can be fetched
	for all, want := range map[bool]string{false: "not tested: ", true: "failed: "} {
		var printed strings.Builder
		status, err := runOnEach(&printed, all, []string{"postgres18", "mysql9"}, []string{"./no-such-command"})
		if (status != 0) != all || err != nil || strings.Count(printed.String(), want) != 2 {
			t.Errorf("servers that can't be fetched, all: %v: status %d, error %v, printed\n%s", all, status, err, &printed)
		}
	}
	for _, server := range []string{"postgres", "postgres8", "oracle9", "9", ""} {
		status, err := runOnEach(io.Discard, false, []string{server}, nil)
		if status == 0 || err == nil || !strings.Contains(err.Error(), "mysql9, mariadb11, postgres14") {
			t.Errorf("%q: status %d, error %v", server, status, err)
		}
	}
}

func TestTableSaysWhatWasLeftOut(t *testing.T) {
	notRun := filepath.Join(t.TempDir(), "not run")
	if err := os.WriteFile(notRun, []byte("TestCrash\nTestClock\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	summary(&printed, []dbtest.Database{
		{Dialect: "sqlite"},
		{Dialect: "postgres", Server: "postgres 15.18 from SNOWKEY_TEST_POSTGRES"},
		{Dialect: "mysql", Missing: errors.New("install it")},
	}, notRun)
	want := `
Databases of this run:
  sqlite    tested
  postgres  tested: postgres 15.18 from SNOWKEY_TEST_POSTGRES
  mysql     not tested
2 tests did not run, because a program that they start isn't on this machine. One is TestCrash.
install it
`
	if printed.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &printed, want)
	}
}
