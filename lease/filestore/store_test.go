package filestore

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
	"github.com/snowkey-go/snowkey/lease"
)

var terms = kvtest.Terms

// newStore returns a store with two rows, and a process that has leased one of them.
func newStore(t *testing.T) (*Store, *kvtest.Process) {
	t.Helper()
	s := Dir(t.TempDir())
	p := &kvtest.Process{T: t, Store: s}
	p.Must(s.Migrate(t.Context()))
	p.Add()
	p.Lease()
	p.Must(s.AddRows(t.Context(), terms, 8, 8))
	return s, p
}

// memoryDir returns a directory in memory if there is one, because the disk is slow.
func memoryDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "snowkey-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// files returns the contents of the files in the store's directory, by name.
func files(t testing.TB, s *Store) map[string]string {
	t.Helper()
	names := errtest.Must(os.ReadDir(s.path))(t)
	all := make(map[string]string)
	for _, n := range names {
		all[n.Name()] = string(errtest.Must(os.ReadFile(filepath.Join(s.path, n.Name())))(t))
	}
	return all
}

func open(t testing.TB, s *Store, cfg snowkey.Config) *idgen.Pool {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	pool := errtest.Must(snowkey.Open(ctx, s, cfg))(t)
	t.Cleanup(func() { pool.Close(context.Background()) })
	return pool
}

// workerOf returns the pool's worker number. It fails the test if the pool has none.
func workerOf(t testing.TB, pool *idgen.Pool) int64 {
	t.Helper()
	worker, ok := pool.Worker()
	if !ok {
		t.Error("the pool has no worker number")
	}
	return worker
}

// The host's clock, which is also the store's clock, is set back by an hour. A process
// that starts then should lease another worker number immediately, and no id may be
// issued again.
func TestClockIsSetBack(t *testing.T) {
	path := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		var ahead atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		start := func(cfg snowkey.Config) *idgen.Pool {
			s := Dir(path)
			s.clock, cfg.Clock = clock, clock
			return open(t, s, cfg)
		}
		seen := make(map[int64]bool)
		draw := func(p *idgen.Pool) {
			t.Helper()
			began := time.Now()
			for range 1000 {
				id := errtest.Must(p.Next(t.Context()))(t)
				if seen[id] {
					t.Fatalf("id %d twice", id)
				}
				seen[id] = true
			}
			if d := time.Since(began); d > time.Second {
				t.Errorf("1000 ids took %v", d)
			}
		}
		only := func(worker int64) snowkey.Config { return snowkey.Config{MinWorker: worker, MaxWorker: worker} }

		start(snowkey.Config{}).Close(t.Context()) // creates the namespace
		time.Sleep(2 * time.Hour)
		closed, living := start(only(1)), start(only(2))
		draw(closed)
		draw(living)
		closed.Close(t.Context())

		ahead.Store(int64(-time.Hour))
		began := time.Now()
		after := start(snowkey.Config{MinWorker: 1})
		draw(after)
		if d := time.Since(began); d > time.Second || workerOf(t, after) < 3 {
			t.Errorf("worker %d after %v", workerOf(t, after), d)
		}

		// If there is no other worker number, no id can be issued.
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s, cfg := Dir(path), only(1)
		s.clock, cfg.Clock, cfg.Logger = clock, clock, slog.New(slog.DiscardHandler)
		_, err := snowkey.Open(ctx, s, cfg)
		if _, ok := errors.AsType[*lease.HoldOffError](err); !ok {
			t.Errorf("with the number of before: %v", err)
		}
		ahead.Store(0)
		draw(start(only(1)))
	})
}

func TestWaitEndsWithContext(t *testing.T) {
	s, p := newStore(t)
	err := s.locked(t.Context(), func(*dir) error {
		before := files(t, s)
		// The first context may end before the lock is asked for.
		for _, deadline := range []time.Duration{time.Millisecond, 300 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			_, _, err := Dir(s.path).Renew(ctx, lease.Renewal{Terms: terms, Held: p.Held, Token: "second"})
			isLock := errors.Is(err, errLocked)
			if !errors.Is(err, context.DeadlineExceeded) || isLock && !strings.Contains(err.Error(), s.path) || !isLock && deadline > time.Millisecond {
				t.Errorf("after %v: %v", deadline, err)
			}
		}
		if after := files(t, s); len(after) != len(before) || after[fileName(terms.Namespace)] != before[fileName(terms.Namespace)] {
			t.Errorf("before: %q\nafter: %q", before, after)
		}
		return nil
	})
	errtest.NoError(t, err)
	if !p.Renewed(t.Context()) {
		t.Error("the lease is lost")
	}
}

// isUnusable reports whether err says that the directory of s, or one below, cannot be used.
func isUnusable(s *Store, err error) bool {
	return err != nil && strings.Contains(err.Error(), "in the directory "+strings.TrimSuffix(strconv.Quote(s.path), `"`))
}

func TestNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	errtest.NoError(t, os.WriteFile(file, []byte("a file"), 0o600))
	for name, s := range map[string]*Store{
		"an empty path":   Dir(""),
		"a file":          Dir(file),
		"below a file":    Dir(filepath.Join(file, "below")),
		"with a NUL byte": Dir("a\x00b"),
	} {
		t.Run(name, func(t *testing.T) {
			refused := func(err error) bool {
				return isUnusable(s, err) || s.path == "" && err != nil && strings.Contains(err.Error(), "make it with Dir")
			}
			if err := s.Migrate(t.Context()); !refused(err) {
				t.Errorf("%s: %v", name, err)
			}
			_, err := s.Probe(t.Context(), lease.Query{Terms: terms})
			if !refused(err) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	if text, err := os.ReadFile(file); string(text) != "a file" || err != nil {
		t.Errorf("the file now has %q, %v", text, err)
	}
}

// A relative path must keep working if the program changes its working directory.
func TestRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	s := Dir("leases")
	errtest.NoError(t, s.Migrate(t.Context()))
	t.Chdir(t.TempDir())
	errtest.Must(s.CreateNamespace(t.Context(), terms, 0))(t)
}

func TestMigrateTidies(t *testing.T) {
	s, p := newStore(t)
	want := files(t, s)
	want["of somebody.tmp"] = ""
	left := strings.TrimSuffix(fileName(terms.Namespace), suffix) + ".LEFT" + unfinished
	for _, name := range []string{left, "of somebody.tmp"} {
		errtest.NoError(t, os.WriteFile(filepath.Join(s.path, name), nil, 0o600))
	}
	errtest.NoError(t, s.Migrate(t.Context()))
	if got := files(t, s); len(got) != len(want) || got[fileName(terms.Namespace)] != want[fileName(terms.Namespace)] {
		t.Errorf("got %q, want %q", got, want)
	}
	if !p.Renewed(t.Context()) {
		t.Error("the lease is lost")
	}
}

// The directory is removed while a process has issued all that it was granted, and the
// clock is set back by less than MaxClockSkew. The next process must not issue the same ids.
func TestRemovedAndClockSetBack(t *testing.T) {
	path := t.TempDir() + "/leases"
	layout := errtest.Must(idgen.ParseLayout("0:20 │ time:41 × 1ms since 2026-01-01T00:00:00Z │ worker:2 │ sequence:1"))(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)))
		var ahead atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		start := func() *idgen.Pool {
			s := Dir(path)
			s.clock = clock
			return open(t, s, snowkey.Config{Layout: layout, Clock: clock, MaxAhead: idgen.NoLimit, MinWorker: 1, MaxWorker: 1})
		}
		start().Close(t.Context()) // creates the namespace
		time.Sleep(time.Minute)
		pool := start()
		worker := workerOf(t, pool)
		terms := lease.Terms{Namespace: "default", Layout: layout.String()}
		rows, err := Dir(path).Rows(t.Context(), terms, worker, worker)
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		last := int64(0)
		for last < rows[0].Bound-1 {
			last = counter(errtest.Must(pool.Next(t.Context()))(t))
		}
		errtest.NoError(t, os.RemoveAll(path))
		ahead.Store(int64(-900 * time.Millisecond))
		next := errtest.Must(start().Next(t.Context()))(t)
		if first := counter(next); first <= last {
			t.Errorf("the next process starts at %d, but %d was issued", first, last)
		}
	})
}

// counter returns tick and sequence of an id.
func counter(id int64) int64 {
	return id>>3<<1 | id&1
}

// Between the read and the write of a renewal, the file is replaced by a copy, and the lease
// expires. Another process may have had the row, which the copy lacks.
func TestCopiedDuringARenewal(t *testing.T) {
	for _, copied := range []bool{false, true} {
		s, p := newStore(t)
		path := filepath.Join(s.path, fileName(terms.Namespace))
		calls := 0
		s.clock = func() time.Time {
			if calls++; calls < 2 {
				return time.Now()
			}
			if text, err := os.ReadFile(path); err == nil && copied && calls == 2 {
				if err := errors.Join(os.WriteFile(path+".copy", text, 0o600), os.Rename(path+".copy", path)); err != nil {
					t.Error(err)
				}
			}
			return time.Now().Add(2 * time.Hour)
		}
		if ok := p.Renewed(t.Context()); ok == copied {
			t.Errorf("copied %v, renewed %v", copied, ok)
		}
	}
}
