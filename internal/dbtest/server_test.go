package dbtest

import (
	"os"
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
