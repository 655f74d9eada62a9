package dbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Process is the process of a server, for a test to kill. It must not be used by more
// than one goroutine at a time.
type Process struct {
	name    string       // for messages
	answers func() error // returns nil if the server accepts requests
	dir     string
	port    int
	warden  *warden
}

// Kill ends the server the way kill -9 does, and returns once the process is gone. The
// server keeps its data directory and its port. Note that the children of a Postgres
// only notice the death of their parent by themselves, so they may still finish a
// statement.
func (p *Process) Kill() error {
	if err := os.WriteFile(p.File("again"), nil, 0o644); err != nil {
		return err
	}
	if err := p.Signal(os.Kill); err != nil {
		return err
	}
	return Within(time.Minute, func() error {
		if p.Runs() {
			return fmt.Errorf("dbtest: %s survives kill -9", p.name)
		}
		return nil
	})
}

// Signal sends a signal to the server. A Postgres that is stopped with SIGSTOP goes on
// answering, because each of its connections has a process of its own.
func (p *Process) Signal(s os.Signal) error {
	text, err := os.ReadFile(p.File("server"))
	if err != nil {
		return fmt.Errorf("dbtest: %s does not run: %w", p.name, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return process.Signal(s)
}

// Start starts a killed server again, and waits until it answers.
func (p *Process) Start() error {
	err := Within(time.Minute, func() error {
		// A new Postgres won't start as long as a child of the old one hasn't noticed
		// that its parent is dead, so this may take several attempts.
		if !p.Runs() {
			before := p.starts()
			if _, err := p.warden.owner.WriteString("\n"); err != nil {
				return err
			}
			for n := 0; p.starts() == before && n < 30_000; n++ {
				time.Sleep(time.Millisecond)
			}
		}
		return p.answers()
	})
	if err != nil {
		return fmt.Errorf("dbtest: %s does not start again: %w; its log ends:\n%s", p.name, err, p.Log())
	}
	return nil
}

// Within calls f until it returns nil. When the time is over, it returns f's error.
func Within(limit time.Duration, f func() error) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		if err := f(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// File returns the path of a file in the server's directory.
func (p *Process) File(name string) string { return filepath.Join(p.dir, name) }

// Log returns the end of what the server has written.
func (p *Process) Log() string { return p.warden.log() }

// starts returns how often the warden has started the server, as text.
func (p *Process) starts() string {
	text, _ := os.ReadFile(p.File("starts")) // may be empty for a moment, while the warden writes it
	return strings.TrimSpace(string(text))
}

// Runs reports whether the server runs, as the warden sees it. Otherwise the warden
// reads from the pipe.
func (p *Process) Runs() bool {
	_, err := os.Stat(p.File("server"))
	return err == nil
}
