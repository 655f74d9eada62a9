package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestContainerIsStarted doesn't need Docker. It uses a fake docker that checks its
// arguments, together with a server that is already running. The names, ports and
// passwords must be those of docker-compose.yml.
func TestContainerIsStarted(t *testing.T) {
	content := string(Must(os.ReadFile("../../docker-compose.yml"))(t))
	for _, e := range []engine{postgres, mysql} {
		_, address := e.addressOf(e.compose)
		for _, want := range []string{"\n  " + e.name + ":\n", `"` + address + ":", "_PASSWORD: snowkey\n"} {
			if !strings.Contains(content, want) || !strings.Contains(e.compose, ":snowkey@") {
				t.Errorf("docker-compose.yml does not contain %q, and the DSN is %s", want, e.compose)
			}
		}
	}

	requireWanted(t, "postgres")
	e := postgres
	e.compose = Must(sharedServer("postgres"))(t).admin.DSN
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for script, want := range map[string]string{
		`[ "$*" = "compose ps" ] || [ "$*" = "compose up -d --wait postgres" ]`: "",
		"echo no space left >&2; exit 1":                                        "no space left",
	} {
		NoError(t, os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		s, err := e.startContainer()
		if ok := want == ""; ok != dockerAnswers() || ok != (err == nil) || !ok && !strings.Contains(err.Error(), want) || ok && s.origin != "docker compose" {
			t.Errorf("with the docker %q: %v, want %q", script, err, want)
		}
	}
}

// TestFetch checks that fetch unpacks packages only once, and nowhere but in the cache.
func TestFetch(t *testing.T) {
	if !Nightly || !mayFetch() {
		t.Skip("make nightly includes this on Debian and Ubuntu")
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
