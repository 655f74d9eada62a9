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
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for running, want := range map[string]string{
		"":             "ps up rm",
		"0123456789ab": "ps up", // not ours, so we must not stop it
	} {
		asked := filepath.Join(bin, "asked"+running)
		script := "#!/bin/sh\n[ $1 = info ] || echo \"$4\" >>'" + asked + "'\n[ \"$4\" = ps ] && echo '" + running + "'\nexit 0\n"
		if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		s, err := e.startContainer()
		if err != nil {
			t.Fatal(err)
		}
		s.stop()
		got, _ := os.ReadFile(asked)
		if got := strings.Join(strings.Fields(string(got)), " "); got != want || !dockerAnswers() {
			t.Errorf("with %q running, docker was asked %q, want %q", running, got, want)
		}
	}
	failing := "#!/bin/sh\necho no space left >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(failing), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := e.startContainer(); dockerAnswers() || err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("a docker without an engine: %v", err)
	}
}
