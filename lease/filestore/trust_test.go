//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filestore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
)

func TestUntrustedDirectories(t *testing.T) {
	chmod := func(mode fs.FileMode) func(string) error {
		return func(path string) error { return os.Chmod(path, mode) }
	}
	for what, tt := range map[string]struct {
		change   func(path string) error
		says     string // "" if it's trusted
		withMode string // the same with Mode(0o770)
	}{
		"as it is":            {chmod(0o700), "", ""},
		"others may read":     {chmod(0o755), "", ""},
		"the group may write": {chmod(0o2770), "its group", ""},
		"everybody may write": {chmod(0o777), "all users", "all users"},
		"sticky":              {chmod(0o777 | fs.ModeSticky), "all users", "all users"},
		"another user's":      {func(path string) error { return os.Chown(path, 65534, -1) }, "belongs to", ""},
		"through a link": {func(path string) error {
			return errors.Join(os.Rename(path, path+".away"), os.Symlink(path+".away", path))
		}, "symbolic link", "symbolic link"},
		"through a link, above": {func(path string) error { return link(filepath.Dir(path)) }, "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			if what == "another user's" && os.Getuid() != 0 {
				t.Skip("only root can make a directory another user's")
			}
			path := filepath.Join(t.TempDir(), "above", "leases")
			errtest.NoError(t, Dir(path).Migrate(t.Context()))
			errtest.NoError(t, tt.change(path))
			for want, s := range map[string]*Store{tt.says: Dir(path), tt.withMode + " ": Dir(path, Mode(0o770))} {
				_, err := s.Namespaces(t.Context())
				want = strings.TrimSpace(want)
				_, permanent := errors.AsType[*lease.PermanentError](err)
				if want == "" && err != nil || want != "" && (!permanent || !isUnusable(s, err) || !strings.Contains(err.Error(), want)) {
					t.Errorf("mode %v: got %v, want %q", s.mode, err, want)
				}
				if again := s.Migrate(t.Context()); (again == nil) != (err == nil) {
					t.Errorf("mode %v: Migrate: %v", s.mode, again)
				}
			}
		})
	}
}

// link puts a symbolic link in the place of a directory.
func link(path string) error {
	return errors.Join(os.Rename(path, path+".away"), os.Symlink(path+".away", path))
}

// The modes don't depend on the umask.
func TestModes(t *testing.T) {
	for mode, files := range map[fs.FileMode]fs.FileMode{0: 0o600, 0o770: 0o660, 0o770 | fs.ModeSetgid: 0o660, 0o750: 0o640} {
		path := filepath.Join(t.TempDir(), "leases")
		s, want := Dir(path), fs.FileMode(0o700)
		if mode != 0 {
			s, want = Dir(path, Mode(mode)), mode
		}
		errtest.NoError(t, s.Migrate(t.Context()))
		errtest.Must(s.CreateNamespace(t.Context(), terms, 0))(t)
		for name, want := range map[string]fs.FileMode{".": want | fs.ModeDir, lockName: files, fileName("ns"): files} {
			if info, err := os.Stat(filepath.Join(path, name)); err != nil || info.Mode() != want {
				t.Errorf("%v: %s has %v, want %v: %v", mode, name, info.Mode(), want, err)
			}
		}
	}
}

// The directory is moved while a renewal waits for the lock, and other processes create
// another one in its place. The renewal must be refused: otherwise leases of both would
// grant the same counters.
func TestMovedWhileARenewalWaits(t *testing.T) {
	s, held := newStore(t, 1)
	s.clock = func() time.Time { // called when the renewal has the lock
		if err := errors.Join(os.Rename(s.path, s.path+".away"), Dir(s.path).Migrate(t.Context())); err != nil {
			t.Error(err)
		}
		return time.Now()
	}
	_, ok, err := s.Renew(t.Context(), lease.Renewal{Terms: terms, Held: held, Token: "second", Wanted: 1 << 62})
	if ok || !isUnusable(s, err) || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("got %v, %v", ok, err)
	}
}

// Somebody deletes the lock file while a call has it locked. That call fails, and all
// files count as copies afterwards, since two calls may have written at the same time.
func TestLockFileIsDeleted(t *testing.T) {
	s, held := newStore(t, 1)
	for _, inUse := range []bool{false, true} {
		before := probe(t, s)
		err := s.locked(t.Context(), func(*dir) error {
			if inUse {
				return os.Remove(filepath.Join(s.path, lockName))
			}
			return nil
		})
		if isUnusable(s, err) != inUse {
			t.Errorf("in use %v: %v", inUse, err)
		}
		after := probe(t, s)
		if before.Current != before.Fingerprint || (after.Current == after.Fingerprint) == inUse {
			t.Errorf("in use %v: %+v, and then %+v", inUse, before, after)
		}
	}
	if !renewed(t, s, held) {
		t.Error("the lease is lost")
	}
}
