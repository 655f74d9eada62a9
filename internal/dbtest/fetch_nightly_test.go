//go:build nightly

package dbtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
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
	installed := func() []byte {
		t.Helper()
		out, err := exec.Command("dpkg-query", "--show").Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := installed()
	if err := fetch("libfaketime"); err != nil {
		t.Fatal(err)
	}
	cache, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(cache, "libfaketime/root/usr/lib/*/faketime/libfaketimeMT.so.1"))
	if len(found) != 1 {
		t.Errorf("the library is in %v", found)
	}
	if !bytes.Equal(installed(), before) {
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
