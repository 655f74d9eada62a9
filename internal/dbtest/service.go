package dbtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Service is a kind of server that speaks no SQL, such as Redis.
type Service struct {
	Name     string   // as in SNOWKEY_TEST_DB
	Programs []string // the programs that it needs
	Dirs     []string // where to look for them besides PATH; each may be a pattern
	Packages string   // the Debian and Ubuntu packages that have them, separated by spaces
	Account  string   // the account that the package creates for the server

	// Serve returns the command line of a server that keeps its files in dir and listens
	// on a port of the loopback interface. It gets the paths of Programs.
	Serve func(paths []string, dir string, port int) []string

	// Answers returns nil if the server at the address accepts requests.
	Answers func(ctx context.Context, address string) error

	// fetch returns the beginning of the command line of a server that this machine does
	// not have. If it is nil, Programs are looked for and installed.
	fetch func() (paths []string, err error)
}

// A Running is a server that [Service.Start] has started.
type Running struct {
	*Process
	Address string // host and port
	Dir     string // where it keeps its files
	Clock   *Clock // nil unless it was started by StartClocked
}

// Start runs a private server until t ends. The test is skipped if SNOWKEY_TEST_DB leaves
// the service out. If the programs can't be had on this machine, the test fails, or is
// skipped and counted if SNOWKEY_TEST_MISSING is set.
func (s Service) Start(t TB) *Running {
	t.Helper()
	return s.start(t, func(_ string, command []string) []string { return command })
}

// StartClocked is like Start, for a test that sets the server's clock.
func (s Service) StartClocked(t TB) *Running {
	t.Helper()
	// An allocator such as jemalloc reads the clock before libfaketime is ready, and the
	// server then hangs. We load the C library before it, whose allocator does not.
	clock, under := newClock(t, "libc.so.6")
	r := s.start(t, under)
	r.Clock = clock
	return r
}

func (s Service) programs() (paths []string, err error) {
	needs := strings.Join(s.Programs, " and ")
	if s.fetch != nil {
		if paths, err = s.fetch(); err != nil {
			err = &absentError{needs, s.Packages, err}
		}
		return paths, err
	}
	return paths, obtain(s.Packages, needs, func() (ok bool) {
		paths, ok = thisMachine.find(s.Dirs, s.Programs...)
		return ok
	})
}

func (s Service) start(t TB, change func(dir string, command []string) []string) *Running {
	t.Helper()
	requireWanted(t, s.Name)
	paths, err := s.programs()
	if err != nil {
		missing(t, err)
	}
	for tries := 3; ; tries-- {
		r, err := s.try(paths, change)
		if err == nil {
			t.Cleanup(r.warden.stop)
			return r
		}
		// Another process may have taken the port before the server could, so try again.
		if tries == 1 || !strings.Contains(strings.ToLower(err.Error()), "already in use") {
			t.Fatalf("%v", err)
		}
	}
}

func (s Service) try(paths []string, change func(dir string, command []string) []string) (*Running, error) {
	port, err := freePort()
	if err != nil {
		return nil, fmt.Errorf("dbtest: no free port: %w", err)
	}
	dir, asAccount, err := ownedDir(s.Account)
	if err != nil {
		return nil, fmt.Errorf("dbtest: no directory for a private %s: %w", s.Name, err)
	}
	data := filepath.Join(dir, "data")
	w, err := startWarden(dir, asAccount, "KILL", []string{"mkdir", data}, change(dir, s.Serve(paths, data, port)))
	if err != nil {
		return nil, fmt.Errorf("dbtest: start a private %s: %w", s.Name, err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	answers := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return s.Answers(ctx, address)
	}
	if err := w.await(answers); err != nil {
		w.stop()
		return nil, fmt.Errorf("dbtest: a private %s did not start: %w; its log ends:\n%s", s.Name, err, w.log())
	}
	return &Running{Process: &Process{name: s.Name, answers: answers, dir: dir, warden: w}, Address: address, Dir: data}, nil
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
