package dbtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// dockerAnswers reports whether docker compose can be used: there must be a
// docker-compose.yml, and an engine that answers.
func dockerAnswers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := composeFile()
	return err == nil && exec.CommandContext(ctx, "docker", "info").Run() == nil &&
		exec.CommandContext(ctx, "docker", "compose", "version").Run() == nil
}

// startContainer starts the engine's service of docker-compose.yml, unless it's already
// running. It goes on running for the next run. Concurrent docker compose commands fail,
// so we hold a lock to make sure that only one process does this at a time.
func (e engine) startContainer() (*Server, error) {
	file, err := composeFile()
	if err != nil {
		return nil, err
	}
	err = locked(func() error {
		out, err := exec.Command("docker", "compose", "--file", file, "up", "-d", "--wait", e.name).CombinedOutput()
		if err != nil {
			return fmt.Errorf("dbtest: docker compose up -d --wait %s: %w:\n%s", e.name, err, out)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s, err := e.connect(context.Background(), e.compose, "docker compose")
	if err != nil {
		return nil, fmt.Errorf("dbtest: the %s of docker compose does not answer: %w", e.name, err)
	}
	return s, nil
}

// composeFile looks for the file in the working directory and then upwards, because go
// test runs each test in the directory of its package.
func composeFile() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		file := filepath.Join(dir, "docker-compose.yml")
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("dbtest: no docker-compose.yml in this directory or above it")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
