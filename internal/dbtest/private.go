package dbtest

import (
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed warden.sh
var wardenScript string

// A program is a server that runs in a temporary directory and listens on a free port.
type program struct {
	name      string // for messages
	account   string // under which it runs if the tests run as root
	quit      string // the signal that ends it
	namespace string // as in Options
	fast      bool   // its files may be in memory

	initialise func(data string) []string
	serve      func(dir, data string, port int) []string
	answers    func(dir string, port int) error // returns nil if it accepts requests
}

// launch starts a program, and waits until it answers.
func (p program) launch() (*Process, error) {
	for tries := 3; ; tries-- {
		process, err := p.try()
		// Another process may have taken the port before the server could, so try
		// again.
		if err == nil || tries == 1 || !strings.Contains(strings.ToLower(err.Error()), "already in use") {
			return process, err
		}
	}
}

func (p program) try() (*Process, error) {
	port, err := freePort()
	if err != nil {
		return nil, fmt.Errorf("dbtest: no free port: %w", err)
	}
	dir, asAccount, err := ownedDir(p.account, p.fast)
	if err != nil {
		return nil, fmt.Errorf("dbtest: no directory for a private %s: %w", p.name, err)
	}
	if p.namespace != "" {
		asAccount = inNamespace(p.namespace, asAccount)
	}
	data := filepath.Join(dir, "data")
	w, err := startWarden(dir, asAccount, p.quit, p.initialise(data), p.serve(dir, data, port))
	if err != nil {
		return nil, fmt.Errorf("dbtest: start a private %s: %w", p.name, err)
	}
	process := &Process{name: p.name, answers: func() error { return p.answers(dir, port) }, dir: dir, port: port, warden: w}
	if err := w.await(process.answers); err != nil {
		w.stop()
		return nil, fmt.Errorf("dbtest: a private %s did not start: %w; its log ends:\n%s", p.name, err, w.log())
	}
	return process, nil
}

// FreePort returns a port that no program uses.
func FreePort(t TB) int {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatalf("dbtest: no free port: %v", err)
	}
	return port
}

// freePort returns a port below those that systems use for outgoing connections, because
// such a connection may take the port before the server does, or while it is down.
func freePort() (port int, err error) {
	const least, most, tries = 10_240, 32_767, 100
	for range tries {
		port = least + rand.IntN(most-least+1)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// A warden ends a server when its owner, which is this process, ends. See warden.sh.
type warden struct {
	owner  *os.File // our end of the pipe; the warden acts when it's closed
	ended  chan struct{}
	output *os.File
}

func startWarden(dir string, asAccount func(*exec.Cmd), quit string, initialise, serve []string) (*warden, error) {
	// We open the log ourselves so that we can still read it after dir has been
	// removed.
	output, err := os.OpenFile(filepath.Join(dir, "log"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	pipe, owner, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer pipe.Close()
	cmd := exec.Command("sh", "-c", wardenScript, "warden", quit, dir, Quote(initialise), Quote(serve))
	cmd.Dir = "/" // our own directory may be one that the account can't enter
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "LC_ALL=C")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipe, output, output
	asAccount(cmd)
	if err := cmd.Start(); err != nil {
		owner.Close()
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	w := &warden{owner: owner, ended: make(chan struct{}), output: output}
	go func() {
		cmd.Wait()
		close(w.ended)
	}()
	return w, nil
}

// await waits until the server answers, exits, or has taken too long. We have to be
// patient here, because MySQL can take half a minute just to create its data directory
// if the machine is busy.
func (w *warden) await(answers func() error) error {
	for deadline := time.After(3 * time.Minute); ; {
		err := answers()
		if err == nil {
			return nil
		}
		select {
		case <-w.ended:
			return errors.New("it ended")
		case <-deadline:
			return fmt.Errorf("it does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server, and waits until both the server and its directory are gone.
func (w *warden) stop() {
	w.owner.Close()
	<-w.ended
}

// log returns the last 2,000 bytes of what the server has written.
func (w *warden) log() string {
	info, err := w.output.Stat()
	if err != nil {
		return err.Error()
	}
	tail := make([]byte, min(info.Size(), 2000))
	n, _ := w.output.ReadAt(tail, info.Size()-int64(len(tail)))
	return string(tail[:n])
}

// Quote turns args into a command line for the shell.
func Quote(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
