package dbtest

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Service is a kind of server, and how to run it.
type Service struct {
	Name     string   // as in SNOWKEY_TEST_DB, if it is there
	Programs []string // names of the program; the first that is found runs
	Packages string   // the Debian and Ubuntu packages that have it, separated by spaces
	Account  string   // the account that the package creates for the server
	Quit     string   // the signal that ends it; by default KILL

	// Serve returns the command line of a server that keeps its files in dir and listens
	// on a port of the loopback interface. It gets the command that runs the program.
	Serve func(command []string, dir string, port int) []string

	// Answers returns nil if the server at the address accepts requests.
	Answers func(ctx context.Context, address string) error

	find       func() (command []string, err error) // if the program is not found by its name
	initialise func(dir string) []string            // the command that creates dir; by default mkdir
	fast       bool                                 // its files may be in memory
}

// A Process is a private server in a temporary directory, for a test to kill. It must not
// be used by more than one goroutine at a time.
type Process struct {
	Address string // host and port
	Port    int
	Dir     string // where the server keeps its files

	service   Service
	home      string // the temporary directory
	serve     string // the command line of the server
	asAccount func(*exec.Cmd)
	owner     *os.File // our end of the pipe; the warden acts when it's closed, see warden.sh
	ended     chan struct{}
	output    *os.File
}

//go:embed warden.sh
var wardenScript string

// Start runs a private server until t ends. The test is skipped if SNOWKEY_TEST_DB leaves
// the service out. If the programs can't be had on this machine, the test fails, or is
// skipped and counted if SNOWKEY_TEST_MISSING is set.
func (s Service) Start(t TB) *Process {
	t.Helper()
	if slices.Contains(services, s.Name) {
		requireWanted(t, s.Name)
	}
	command, err := s.command()
	if err != nil {
		missing(t, err)
	}
	p := Must(s.launch(command))(t)
	t.Cleanup(p.stop)
	return p
}

// StartClocked is like Start, for a test that sets the server's clock.
func (s Service) StartClocked(t TB) *Process {
	t.Helper()
	// An allocator such as jemalloc reads the clock before libfaketime is ready, and the
	// server then hangs. We load the C library before it, whose allocator does not.
	under, serve := underClock(t, "libc.so.6"), s.Serve
	s.Serve = func(command []string, dir string, port int) []string {
		return under(filepath.Dir(dir), serve(command, dir, port))
	}
	return s.Start(t)
}

func (s Service) command() (command []string, err error) {
	if s.find == nil {
		program, err := program(s.Packages, s.Programs...)
		return []string{program}, err
	}
	if command, err = s.find(); err != nil {
		err = &absentError{strings.Join(s.Programs, " or "), s.Packages, err}
	}
	return command, err
}

// launch starts a server, and waits until it answers.
func (s Service) launch(command []string) (*Process, error) {
	for tries := 3; ; tries-- {
		p, err := s.try(command)
		// Another process may have taken the port before the server could, so try
		// again.
		if err == nil || tries == 1 || !strings.Contains(strings.ToLower(err.Error()), "already in use") {
			return p, err
		}
	}
}

func (s Service) try(command []string) (*Process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	home, asAccount, err := ownedDir(s.Account, s.fast)
	if err != nil {
		return nil, fmt.Errorf("dbtest: no directory for a private %s: %w", s.Name, err)
	}
	p := &Process{
		Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Port: port, Dir: filepath.Join(home, "data"),
		service: s, home: home, asAccount: asAccount,
	}
	initialise := []string{"mkdir", p.Dir}
	if s.initialise != nil {
		initialise = s.initialise(p.Dir)
	}
	p.serve = Quote(s.Serve(command, p.Dir, port))
	// We open the log ourselves so that we can still read it after the directory has been
	// removed.
	p.output, err = os.OpenFile(p.File("log"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		err = p.guard(initialise)
	}
	if err != nil {
		return nil, fmt.Errorf("dbtest: start a private %s: %w", s.Name, errors.Join(err, os.RemoveAll(home)))
	}
	// We have to be patient, because MySQL can take half a minute just to create its data
	// directory if the machine is busy.
	alive := true
	err = Within(3*time.Minute, func() error {
		if alive = p.Runs(); !alive {
			return nil
		}
		return p.answers()
	})
	if !alive {
		err = errors.New("it ended")
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("dbtest: a private %s did not start: %w; its log ends:\n%s", s.Name, err, p.Log())
	}
	return p, nil
}

// guard starts the warden of a server, which starts the server.
func (p *Process) guard(initialise []string) error {
	pipe, owner, err := os.Pipe()
	if err != nil {
		return err
	}
	defer pipe.Close()
	cmd := exec.Command("sh", "-c", wardenScript, "warden", cmp.Or(p.service.Quit, "KILL"), p.home, Quote(initialise), p.serve)
	cmd.Dir = "/" // our own directory may be one that the account can't enter
	cmd.Env = append(os.Environ(), "HOME="+p.home, "TMPDIR="+p.home, "LC_ALL=C")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipe, p.output, p.output
	p.asAccount(cmd)
	if err := cmd.Start(); err != nil {
		owner.Close()
		return err
	}
	ended := make(chan struct{})
	p.owner, p.ended = owner, ended
	go func() {
		cmd.Wait()
		owner.Close()
		close(ended)
	}()
	return nil
}

// stop ends the server if it is ours, and waits until both the server and its directory
// are gone.
func (p *Process) stop() {
	if p == nil {
		return
	}
	p.owner.Close()
	<-p.ended
	os.RemoveAll(p.home) // is left if the server was killed
}

func (p *Process) answers() error {
	if info, err := os.Stat(p.File("server")); err != nil || info.Size() == 0 {
		return fmt.Errorf("the server has no process yet: %w", cmp.Or(err, io.EOF))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	return p.service.Answers(ctx, p.Address)
}

// Kill ends the server the way kill -9 does, and returns once the process is gone. The
// server keeps its data directory and its port. Note that the children of a Postgres
// only notice the death of their parent by themselves, so they may still finish a
// statement.
func (p *Process) Kill() error {
	err := os.WriteFile(p.File("keep"), nil, 0o644)
	if err = errors.Join(err, p.Signal(os.Kill)); err != nil {
		return err
	}
	<-p.ended
	return nil
}

// Signal sends a signal to the server. A Postgres that is stopped with SIGSTOP goes on
// answering, because each of its connections has a process of its own.
func (p *Process) Signal(s os.Signal) error {
	var pid int
	text, err := os.ReadFile(p.File("server"))
	if err == nil {
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if err != nil {
		return fmt.Errorf("dbtest: %s does not run: %w", p.service.Name, err)
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
			if err := p.guard([]string{"true"}); err != nil {
				return err
			}
		}
		return p.answers()
	})
	if err != nil {
		return fmt.Errorf("dbtest: %s does not start again: %w; its log ends:\n%s", p.service.Name, err, p.Log())
	}
	return nil
}

// Runs reports whether the server runs.
func (p *Process) Runs() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// File returns the path of a file in the server's directory.
func (p *Process) File(name string) string { return filepath.Join(p.home, name) }

// Log returns the last 2,000 bytes of what the server has written.
func (p *Process) Log() string {
	info, err := p.output.Stat()
	if err != nil {
		return err.Error()
	}
	tail, _ := io.ReadAll(io.NewSectionReader(p.output, max(info.Size()-2000, 0), 2000))
	return string(tail)
}

// Within calls f until it returns nil. When the time is over, it returns f's error.
func Within(limit time.Duration, f func() error) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		if err := f(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// FreePort returns a port that no program uses.
func FreePort(t TB) int {
	t.Helper()
	return Must(freePort())(t)
}

// freePort returns a port below those that systems use for outgoing connections, because
// such a connection may take the port before the server does, or while it is down.
func freePort() (port int, err error) {
	const least, most = 10_240, 32_767
	for range 100 {
		port = least + rand.IntN(most-least+1)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("dbtest: no free port: %w", err)
}

// Quote turns args into a command line for the shell.
func Quote(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// WithFile returns a command that writes a file before it runs another command, for the
// configuration of a [Service].
func WithFile(path, text string, command ...string) []string {
	return append([]string{"sh", "-c", `printf %s "$1" >"$0" && shift && exec "$@"`, path, text}, command...)
}

// underClock returns a function that makes a server's command read the time that
// [Process.SetClock] sets. The server also loads preload, if that isn't empty.
func underClock(t TB, preload string) func(dir string, command []string) []string {
	t.Helper()
	var library string // the variant for multithreaded programs
	Obtain(t, "libfaketime", "libfaketimeMT.so.1", func() bool {
		for _, dir := range append([]string{"/usr/lib/*"}, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))...) {
			if paths, _ := filepath.Glob(filepath.Join(dir, "faketime", "libfaketimeMT.so.1")); len(paths) > 0 {
				library = paths[0]
				return true
			}
		}
		return false
	})
	return func(dir string, command []string) []string {
		return append([]string{
			"env", "LD_PRELOAD=" + library + " " + preload, "FAKETIME_TIMESTAMP_FILE=" + filepath.Join(dir, "clock"),
			"FAKETIME_NO_CACHE=1", "DONT_FAKE_MONOTONIC=1",
			"FAKETIME_FORCE_MONOTONIC_FIX=0", // a workaround for older C libraries, with which the waiting threads of MySQL never sleep
		}, command...)
	}
}

// SetClock moves the clock of a server ahead of the clock of this host, or behind it if by
// is negative. The server must come from [Clocked] or [Service.StartClocked]. Its clock
// always runs at the usual speed.
func (p *Process) SetClock(by time.Duration) error {
	// The rename is atomic, so the server can't read a half-written offset.
	next := p.File("clock.next")
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+.3f\n", by.Seconds()), 0o644); err != nil {
		return err
	}
	return os.Rename(next, p.File("clock"))
}
