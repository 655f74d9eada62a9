package dbtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// dockerAnswers reports whether docker compose can be used: there must be a
// docker-compose.yml, and an engine that answers.
func dockerAnswers() bool {
	if _, err := composeFile(); err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "docker", "info").Run() == nil &&
		exec.CommandContext(ctx, "docker", "compose", "version").Run() == nil
}

// startContainer starts the engine's service of docker-compose.yml, unless it's already
// running. Concurrent docker compose commands fail, so we hold a lock to make sure that
// only one process does this at a time.
func (e engine) startContainer() (*Server, error) {
	file, err := composeFile()
	if err != nil {
		return nil, err
	}
	var ours bool
	err = locked(func() error {
		running, err := compose(file, "ps", "--quiet", "--status", "running", e.name)
		if err != nil {
			return err
		}
		ours = strings.TrimSpace(running) == ""
		_, err = compose(file, "up", "-d", "--wait", e.name)
		return err
	})
	if err != nil {
		return nil, err
	}
	srv, err := e.connect(e.compose, "docker compose")
	if err != nil {
		return nil, fmt.Errorf("dbtest: the %s of docker compose does not answer: %w", e.name, err)
	}
	if ours {
		srv.stop = func() { compose(file, "rm", "--stop", "--force", "--volumes", e.name) }
	}
	return srv, nil
}

func compose(file string, args ...string) (output string, err error) {
	cmd := exec.Command("docker", append([]string{"compose", "--file", file}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("dbtest: docker compose %s: %w:\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

// composeFile looks for the file in the working directory and then upwards, because go
// test runs each test in the directory of its package.
func composeFile() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		file := filepath.Join(dir, "docker-compose.yml")
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("dbtest: no docker-compose.yml in this directory or above it")
		}
		dir = parent
	}
}
