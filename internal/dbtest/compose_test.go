package dbtest

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
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
	pg, err := url.Parse(postgres.compose)
	if err != nil {
		t.Fatal(err)
	}
	pgPassword, _ := pg.User.Password()
	my, err := mysqldriver.ParseDSN(mysql.compose)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n  " + postgres.name + ":\n", `"` + pg.Host + `:5432"`, "POSTGRES_PASSWORD: " + pgPassword + "\n",
		"\n  " + mysql.name + ":\n", `"` + my.Addr + `:3306"`, "MYSQL_ROOT_PASSWORD: " + my.Passwd + "\n",
	} {
		if !strings.Contains(string(content), want) {
			t.Errorf("docker-compose.yml does not contain %q", want)
		}
	}
}

// TestContainerIsStartedAndStopped doesn't need Docker. It uses a fake docker that
// records its arguments, together with a server that is already running.
func TestContainerIsStartedAndStopped(t *testing.T) {
	requireWanted(t, "postgres")
	there, err := sharedServer("postgres")
	if err != nil {
		t.Fatal(err)
	}
	e := postgres
	e.compose = there.dsn
	file, err := composeFile()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	asked := filepath.Join(bin, "asked")
	script := "#!/bin/sh\necho \"$@\" >>'" + asked + "'\ncase \"$*\" in *' ps '*) cat '" + bin + "/running';; esac\n"
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if !dockerAnswers() {
		t.Error("a docker that answers was not asked, or not believed")
	}

	for running, want := range map[string][]string{
		"":             {"ps --quiet --status running postgres", "up -d --wait postgres", "rm --stop --force --volumes postgres"},
		"0123456789ab": {"ps --quiet --status running postgres", "up -d --wait postgres"}, // not ours, so we must not stop it
	} {
		if err := os.WriteFile(filepath.Join(bin, "running"), []byte(running), 0o644); err != nil {
			t.Fatal(err)
		}
		os.Remove(asked)
		srv, err := e.startContainer()
		if err != nil {
			t.Fatal(err)
		}
		srv.stop()
		got, err := os.ReadFile(asked)
		if err != nil {
			t.Fatal(err)
		}
		prefix := "compose --file " + file + " "
		if want := prefix + strings.Join(want, "\n"+prefix) + "\n"; string(got) != want {
			t.Errorf("with %q running, docker was asked:\n%swant:\n%s", running, got, want)
		}
	}

	failing := "#!/bin/sh\necho no space left >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(failing), 0o755); err != nil {
		t.Fatal(err)
	}
	if dockerAnswers() {
		t.Error("a docker without an engine is believed to answer")
	}
	if _, err := e.startContainer(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("the error does not say what docker said: %v", err)
	}
}
