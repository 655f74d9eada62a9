//go:build nightly

package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNightlyFetch checks that fetch unpacks packages only once, and nowhere but in the cache.
func TestNightlyFetch(t *testing.T) {
	if !mayFetch() {
		t.Skip("this is neither Debian nor Ubuntu")
	}
	t.Setenv("SNOWKEY_TEST_CACHE", t.TempDir())
	t.Setenv("PATH", os.Getenv("PATH")) // fetch changes both, and t.Setenv restores them
	t.Setenv("LD_LIBRARY_PATH", os.Getenv("LD_LIBRARY_PATH"))
	installed := func() string {
		out, err := exec.Command("dpkg-query", "--show").CombinedOutput()
		return fmt.Sprint(string(out), err)
	}
	before := installed()
	dir, err := unpacked("", "libfaketime")
	found, _ := filepath.Glob(filepath.Join(dir, "root/usr/lib/*/faketime/libfaketimeMT.so.1"))
	if err != nil || len(found) != 1 || !strings.HasPrefix(dir, os.Getenv("SNOWKEY_TEST_CACHE")) {
		t.Errorf("the library is in %v: %v", found, err)
	}
	if installed() != before {
		t.Error("the packages of the system have changed")
	}
	t.Setenv("PATH", "")
	if err := fetch("libfaketime"); err != nil {
		t.Errorf("what is in the cache is fetched again: %v", err)
	}
	if err := fetch("no-such-package"); err == nil {
		t.Error("a package that does not exist is fetched")
	}
}
