package dbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Process is a server's, for a test to kill. It is for one goroutine at a time.
type Process struct {
	engine engine
	dsn    string
	dir    string
	warden *warden
}

// Kill ends the server as kill -9 does. It returns once the process is gone;
// its data directory and its port stay. The children of a Postgres see that by
// themselves, and may finish a statement first.
func (p *Process) Kill() error {
	if err := os.WriteFile(p.file("again"), nil, 0o644); err != nil {
		return err
	}
	text, err := os.ReadFile(p.file("server"))
	if err != nil {
		return fmt.Errorf("dbtest: %s does not run: %w", p.engine.name, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := process.Kill(); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); p.runs(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("dbtest: %s survives kill -9", p.engine.name)
		}
	}
	return nil
}

// Start starts a killed server again. It returns when the server answers.
func (p *Process) Start() error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		// One that has not noticed yet that its parent is dead keeps a new Postgres
		// from starting, so it may take several attempts.
		if !p.runs() {
			if _, err := p.warden.owner.WriteString("\n"); err != nil {
				return err
			}
			for !p.runs() && time.Now().Before(deadline) {
				time.Sleep(time.Millisecond)
			}
		}
		_, err := p.engine.connect(p.dsn, "")
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("dbtest: %s does not start again: %w; its log ends:\n%s", p.engine.name, err, p.warden.log())
		}
	}
}

func (p *Process) file(name string) string { return filepath.Join(p.dir, name) }

// runs reports whether the warden waits for a server, and so does not read.
func (p *Process) runs() bool {
	_, err := os.Stat(p.file("server"))
	return err == nil
}
