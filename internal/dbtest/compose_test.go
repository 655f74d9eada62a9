package dbtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestComposeFileAgrees checks that this package and docker-compose.yml agree on names,
// ports and passwords.
func TestComposeFileAgrees(t *testing.T) {
	file, err := composeFile()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []engine{postgres, mysql} {
		_, address := e.addressOf(e.compose)
		for _, want := range []string{"\n  " + e.name + ":\n", `"` + address + ":", "_PASSWORD: snowkey\n"} {
			if !strings.Contains(string(content), want) || !strings.Contains(e.compose, ":snowkey@") {
				t.Errorf("docker-compose.yml does not contain %q, and the DSN is %s", want, e.compose)
			}
		}
	}
}

// TestContainerIsStarted doesn't need Docker. It uses a fake docker that records its
// arguments, together with a server that is already running.
func TestContainerIsStarted(t *testing.T) {
	requireWanted(t, "postgres")
	there, err := sharedServer("postgres")
	if err != nil {
		t.Fatal(err)
	}
	e := postgres
	e.compose = there.dsn
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for script, want := range map[string]string{
		`[ "$*" = info ] || [ "$*" = "compose version" ] || [ "${*#*docker-compose.yml }" = "up -d --wait postgres" ]`: "",
		"echo no space left >&2; exit 1": "no space left",
	} {
		if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		s, err := e.startContainer()
		if ok := want == ""; ok != dockerAnswers() || ok != (err == nil) || !ok && !strings.Contains(err.Error(), want) || ok && s.origin != "docker compose" {
			t.Errorf("with the docker %q: %v, want %q", script, err, want)
		}
	}
}
