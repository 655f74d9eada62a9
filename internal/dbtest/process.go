package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Process is the process of a server, for a test to kill. It must not be used by more
// than one goroutine at a time.
type Process struct {
	engine engine
	dsn    string
	dir    string
	warden *warden
}

// Kill ends the server the way kill -9 does, and returns once the process is gone. The
// server keeps its data directory and its port. Note that the children of a Postgres
// only notice the death of their parent by themselves, so they may still finish a
// statement.
func (p *Process) Kill() error {
	if err := os.WriteFile(p.file("again"), nil, 0o644); err != nil {
		return err
	}
	process, err := p.find()
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

// Pause stops the server the way kill -STOP does, until [Process.Continue] is called.
func (p *Process) Pause() error { return p.signal("STOP") }

// Continue continues a server that was paused.
func (p *Process) Continue() error { return p.signal("CONT") }

func (p *Process) signal(name string) error {
	process, err := p.find()
	if err != nil {
		return err
	}
	if out, err := exec.Command("kill", "-s", name, strconv.Itoa(process.Pid)).CombinedOutput(); err != nil {
		return fmt.Errorf("dbtest: %w: %s", err, out)
	}
	return nil
}

// find returns the server's process.
func (p *Process) find() (*os.Process, error) {
	text, err := os.ReadFile(p.file("server"))
	if err != nil {
		return nil, fmt.Errorf("dbtest: %s does not run: %w", p.engine.name, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, err
	}
	return os.FindProcess(pid)
}

// Start starts a killed server again, and waits until it answers.
func (p *Process) Start() error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		// A new Postgres won't start as long as a child of the old one hasn't noticed
		// that its parent is dead, so this may take several attempts.
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

// runs reports whether the warden is waiting for a server, which means that it isn't
// reading from the pipe.
func (p *Process) runs() bool {
	_, err := os.Stat(p.file("server"))
	return err == nil
}
