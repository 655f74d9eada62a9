package dbtest

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Service is a kind of server other than a database, such as Redis.
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

	// find returns the command that runs the program, if it is not found by its name.
	find func() (command []string, err error)
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

func (s Service) command() (command []string, err error) {
	needs := strings.Join(s.Programs, " or ")
	if s.find != nil {
		if command, err = s.find(); err != nil {
			err = &absentError{needs, s.Packages, err}
		}
		return command, err
	}
	err = obtain(s.Packages, needs, func() bool {
		command = candidates(s.Programs...)
		return len(command) > 0
	})
	if err != nil {
		return nil, err
	}
	return command[:1], nil
}

func (s Service) start(t TB, change func(dir string, command []string) []string) *Running {
	t.Helper()
	if slices.Contains(services, s.Name) {
		requireWanted(t, s.Name)
	}
	command, err := s.command()
	if err != nil {
		missing(t, err)
	}
	if s.Quit == "" {
		s.Quit = "KILL"
	}
	address := func(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
	process, err := program{
		name: s.Name, account: s.Account, quit: s.Quit,
		initialise: func(data string) []string { return []string{"mkdir", data} },
		serve: func(dir, data string, port int) []string {
			return change(dir, s.Serve(command, data, port))
		},
		answers: func(_ string, port int) error {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			return s.Answers(ctx, address(port))
		},
	}.launch()
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(process.warden.stop)
	return &Running{Process: process, Address: address(process.port), Dir: filepath.Join(process.dir, "data")}
}
