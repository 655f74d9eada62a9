package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func TestCommandIsLedToServersAndItsStatusKept(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("OUT", out)
	status, err := run([]string{"sh", "-c", `echo "$SNOWKEY_TEST_POSTGRES $SNOWKEY_TEST_MYSQL" >"$OUT"; exit 3`})
	if status != 3 || err != nil {
		t.Fatalf("status %d, error %v, want the command's 3", status, err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, dialect := range dbtest.Databases(t) {
		if dialect != "sqlite" {
			want++
		}
	}
	if dsns := strings.Fields(string(got)); len(dsns) != want {
		t.Errorf("the command got %d DSNs, want %d", len(dsns), want)
	}
}

func TestCommandThatCannotRunIsNamed(t *testing.T) {
	t.Setenv("SNOWKEY_TEST_DB", "sqlite")
	status, err := run([]string{"./no-such-command"})
	if status != 1 || err == nil || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("status %d, error %v", status, err)
	}
}

func TestWithoutServersTheCommandDoesNotRun(t *testing.T) {
	t.Setenv("SNOWKEY_TEST_DB", "postgres")
	t.Setenv("SNOWKEY_TEST_POSTGRES", "host=127.0.0.1 port=1")
	mark := filepath.Join(t.TempDir(), "ran")
	status, err := run([]string{"touch", mark})
	if status == 0 || err == nil {
		t.Errorf("status %d, error %v", status, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command ran")
	}
}
