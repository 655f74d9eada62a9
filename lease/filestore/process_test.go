//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filestore

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
)

// If the variable roleEnv is set, the test's program runs as a process with the named
// role, in the directory that dirEnv names.
const (
	roleEnv = "SNOWKEY_FILESTORE_ROLE"
	dirEnv  = "SNOWKEY_FILESTORE_DIR"
)

var roles = map[string]func(*Store) error{
	"hammer":       hammer,
	"full disk":    func(s *Store) error { return errors.Join(limitFiles(), refused(s)) },
	"unprivileged": func(s *Store) error { return errors.Join(dropPrivileges(), refused(s)) },
}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleEnv)]; role != nil {
		slog.SetDefault(slog.New(slog.DiscardHandler))
		if err := role(Dir(os.Getenv(dirEnv))); err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		return
	}
	os.Exit(m.Run())
}

// A process is another instance of the test's program that runs one of the roles.
type process struct {
	name string
	cmd  *exec.Cmd
	out  *bufio.Scanner
}

// start starts a process, which is killed when the test ends if it's still running.
func start(t *testing.T, role, dir string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir, "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = os.Stderr
	out := errtest.Must(p.cmd.StdoutPipe())(t)
	errtest.NoError(t, p.cmd.Start())
	t.Cleanup(func() { p.cmd.Process.Kill() })
	p.name, p.out = fmt.Sprint(role, " ", p.cmd.Process.Pid), bufio.NewScanner(out)
	return p
}

// hear passes the spans that the process reports to all until the process ends, and calls
// heard after each of them.
func (p *process) hear(t *testing.T, all *spans, heard func()) {
	for p.out.Scan() {
		s := span{process: p.name}
		if _, err := fmt.Sscanf(p.out.Text(), spanLine, &s.worker, &s.first, &s.last); err != nil {
			t.Errorf("%s: %s", p.name, p.out.Text())
			continue
		}
		all.add(s)
		heard()
	}
	p.cmd.Wait()
}

const spanLine = "worker %d from %d to %d"

// A span is what one process issued under one lease.
type span struct {
	process             string
	worker, first, last int64
}

// spans are safe for concurrent use.
type spans struct {
	mu  sync.Mutex
	all []span
}

func (s *spans) add(one span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
}

// disjoint fails if two spans have a counter in common, or if there are suspiciously few.
// The processes must have ended.
func (s *spans) disjoint(t *testing.T) {
	t.Helper()
	slices.SortFunc(s.all, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.worker, b.worker), cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last))
	})
	for i, one := range s.all {
		if i > 0 && s.all[i-1].worker == one.worker && one.first <= s.all[i-1].last {
			t.Errorf("%+v overlaps %+v", one, s.all[i-1])
		}
	}
	if len(s.all) < 10 {
		t.Errorf("only %d spans", len(s.all))
	}
}

// hammer claims, renews and releases as fast as it can, and reports the counters that
// it may issue. It returns only if there is an error.
func hammer(s *Store) error {
	ctx, terms := context.Background(), terms
	terms.TTL = (50 * time.Millisecond).Microseconds()
	terms.Workers = 8
	if err := s.Migrate(ctx); err != nil {
		return err
	}
	for {
		p, err := s.Probe(ctx, lease.Query{Terms: terms, Max: terms.Workers - 1})
		switch {
		case err != nil:
		case !p.HasNamespace:
			_, err = s.CreateNamespace(ctx, terms, 0)
		case p.Fingerprint != p.Current:
			err = errors.New("it looks restored")
		case !p.HasFree && p.LastWorker < terms.Workers-1:
			err = s.AddRows(ctx, terms, p.LastWorker+1, terms.Workers-1)
		case !p.HasFree:
			time.Sleep(time.Millisecond)
		default:
			err = hold(ctx, s, terms, p)
		}
		if err != nil {
			return err
		}
	}
}

// hold claims a row, renews it up to seven times and then releases it, unless it loses
// the lease first.
func hold(ctx context.Context, s *Store, terms lease.Terms, p lease.Probe) error {
	issued := max(p.Row.Bound, p.Fence)
	issue := func(until int64) {
		if issued < until {
			// One call writes the whole line or nothing, even if the process is killed.
			fmt.Printf(spanLine+"\n", p.Row.Worker, issued, until-1)
			issued = until
		}
	}
	row, ok, err := s.Claim(ctx, lease.Claim{Terms: terms, Seen: p.Row, Fence: p.Fence, Token: rand.Text(), Wanted: issued + 100})
	for range mathrand.IntN(8) {
		if !ok || err != nil {
			return err
		}
		issue(row.Bound - mathrand.Int64N(10))
		row, ok, err = s.Renew(ctx, lease.Renewal{Terms: terms, Held: row, Token: rand.Text(), Wanted: row.Bound + 100})
	}
	if !ok || err != nil {
		return err
	}
	issue(row.Bound - 50)
	_, err = s.Release(ctx, terms, row, issued)
	return err
}

// A fleet is a group of processes that hammer one directory.
type fleet struct {
	processes []*process
	heard     chan bool // receives a value when one of the processes has issued counters
	ended     sync.WaitGroup
}

func startFleet(t *testing.T, dir string, all *spans) *fleet {
	t.Helper()
	f := &fleet{heard: make(chan bool, 1)}
	for range 4 {
		p := start(t, "hammer", dir)
		f.processes = append(f.processes, p)
		f.ended.Go(func() {
			p.hear(t, all, func() {
				select {
				case f.heard <- true:
				default:
				}
			})
		})
	}
	return f
}

// listen waits until the fleet has issued counters at least n times.
func (f *fleet) listen(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-f.heard:
		case <-time.After(30 * time.Second):
			t.Fatal("nobody gets a lease any more")
		}
	}
}

func (f *fleet) kill() {
	for _, p := range f.processes {
		p.cmd.Process.Kill()
	}
	f.ended.Wait()
}

// length is how long a test keeps killing or stopping processes. It is longer at night.
var length = time.Second

// We repeatedly kill all processes at once while they write.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := memoryDir(t)
	var all spans
	for began := time.Now(); time.Since(began) < length && !t.Failed(); {
		f := startFleet(t, dir, &all)
		f.listen(t, 1+mathrand.IntN(20))
		f.kill()
	}
	all.disjoint(t)
}

// We stop processes until their leases have expired, even while they have the lock, and
// then let them continue.
func TestStop(t *testing.T) {
	t.Parallel()
	var all spans
	f := startFleet(t, memoryDir(t), &all)
	for began := time.Now(); time.Since(began) < length; {
		f.listen(t, 1)
		p := f.processes[mathrand.IntN(len(f.processes))].cmd.Process
		errtest.NoError(t, p.Signal(syscall.SIGSTOP))
		time.Sleep(mathrand.N(150 * time.Millisecond))
		errtest.NoError(t, p.Signal(syscall.SIGCONT))
	}
	f.listen(t, 10)
	f.kill()
	all.disjoint(t)
}

// limitFiles limits the size of files to less than what a file of leases needs, so
// writes fail as they would on a full disk.
func limitFiles() error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 200, Max: 200})
}

func dropPrivileges() error {
	if os.Getuid() != 0 {
		return nil
	}
	return syscall.Setuid(65534)
}

// refused returns an error if a change of the file or of the directory does not fail with an
// error about the directory.
func refused(s *Store) error {
	ctx := context.Background()
	another := terms
	another.Layout = "another layout"
	_, err := s.CreateNamespace(ctx, another, 1)
	if isUnusable(s, err) && os.Getenv(roleEnv) == "full disk" { // the limit doesn't apply to directories and reads
		_, err = s.Rows(ctx, terms, 0, 0)
		return err
	}
	migrated := Dir(filepath.Join(s.path, "below")).Migrate(ctx)
	if !isUnusable(s, err) || !isUnusable(s, migrated) {
		return fmt.Errorf("got %v and %v", err, migrated)
	}
	return nil
}

func TestUpdatesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"full disk", "unprivileged"} {
		t.Run(role, func(t *testing.T) {
			s, held := newStore(t, 2)
			before := files(t, s)
			if role == "unprivileged" {
				// Make sure that every user can read the directory.
				errtest.NoError(t, errors.Join(os.Chmod(filepath.Dir(s.path), 0o755), os.Chmod(s.path, 0o555)))
			}
			p := start(t, role, s.path)
			p.hear(t, new(spans), func() { t.Error("it has a lease") })
			if after := files(t, s); !maps.Equal(before, after) {
				t.Errorf("before: %q\nafter: %q", slices.Sorted(maps.Values(before)), slices.Sorted(maps.Values(after)))
			}
			errtest.NoError(t, os.Chmod(s.path, 0o755))
			if !renewed(t, s, held) {
				t.Error("the lease is lost")
			}
		})
	}
}
