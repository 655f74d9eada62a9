//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filestore

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/internal/kvlease/kvtest"
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
		for name, want := range map[string]fs.FileMode{".": want | fs.ModeDir, lockName: files, fileName(terms.Namespace): files} {
			if info, err := os.Stat(filepath.Join(path, name)); err != nil || info.Mode() != want {
				t.Errorf("%v: %s has %v, want %v: %v", mode, name, info.Mode(), want, err)
			}
		}
	}
}

// The directory is moved or deleted while a renewal has its lock, and other processes create
// another one in its place. The renewal must be refused: otherwise leases of both would
// grant the same counters. It must not change the new directory.
func TestDirectoryIsReplacedInUse(t *testing.T) {
	for says, remove := range map[string]func(path string) error{
		"replaced":     func(path string) error { return os.Rename(path, path+".away") },
		"no such file": os.RemoveAll,
	} {
		t.Run(says, func(t *testing.T) {
			s, p := newStore(t)
			s.clock = func() time.Time { // called when the renewal has the lock
				other := Dir(s.path)
				err := errors.Join(remove(s.path), other.Migrate(t.Context()))
				_, created := other.CreateNamespace(t.Context(), terms, 0)
				if err := errors.Join(err, created); err != nil {
					t.Error(err)
				}
				return time.Now()
			}
			_, ok, err := s.Renew(t.Context(), lease.Renewal{Terms: terms, Held: p.Held, Token: "second", Wanted: 1 << 62})
			if ok || !isUnusable(s, err) || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v, %v", ok, err)
			}
			s.clock = time.Now
			if found := p.Look(); !found.HasNamespace || found.HasFree {
				t.Errorf("the new directory has %+v", found)
			}
		})
	}
}

// Somebody deletes the lock file while a call has it locked. That call fails, and all
// files count as copies afterwards, since two calls may have written at the same time.
func TestLockFileIsDeleted(t *testing.T) {
	s, p := newStore(t)
	for _, inUse := range []bool{false, true} {
		before := p.Look()
		err := s.locked(t.Context(), func(*dir) error {
			if inUse {
				return os.Remove(filepath.Join(s.path, lockName))
			}
			return nil
		})
		if isUnusable(s, err) != inUse {
			t.Errorf("in use %v: %v", inUse, err)
		}
		after := p.Look()
		if before.Current != before.Fingerprint || (after.Current == after.Fingerprint) == inUse {
			t.Errorf("in use %v: %+v, and then %+v", inUse, before, after)
		}
	}
	if !p.Renewed(t.Context()) {
		t.Error("the lease is lost")
	}
}

// No matter how a file is restored, the next claim must notice that later grants may be
// missing from it.
func TestRestoredFile(t *testing.T) {
	sh := func(command string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			cmd := exec.Command("sh", "-ec", command)
			cmd.Dir = filepath.Dir(dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
		}
	}
	for what, tc := range map[string]struct {
		backup, restore string
	}{
		"archive":                  {"tar cf backup.tar leases", "rm -r leases; tar xf backup.tar"},
		"archive, over it":         {"tar cf backup.tar leases", "tar xf backup.tar"},
		"copy":                     {"cp -pR leases backup", "rm -r leases; cp -pR backup leases"},
		"copy of the file":         {"cp -p leases/*.leases backup", "cp -p backup leases/backup; mv leases/backup leases/*.leases"},
		"into the file":            {"cp leases/*.leases backup", "tee leases/*.leases <backup"},
		"the copy is what is left": {"cp -pR leases backup", "rm -r leases; mv backup leases"},
	} {
		t.Run(what, func(t *testing.T) {
			s, p := newStore(t)
			dir := filepath.Join(filepath.Dir(s.path), "leases")
			errtest.NoError(t, os.Rename(s.path, dir))
			s.path = dir
			sh(tc.backup)(t, dir)
			if !p.Renewed(t.Context()) {
				t.Fatal("the lease is lost")
			}
			before := p.Look()
			if before.Current != before.Fingerprint {
				t.Fatalf("before: %+v", before)
			}
			sh(tc.restore)(t, dir)
			noticed := p.Look()
			if noticed.Current == noticed.Fingerprint {
				t.Fatalf("not noticed: %+v", noticed)
			}
			// Other updates must not hide that the file was restored.
			errtest.NoError(t, s.AddRows(t.Context(), terms, 9, 9))
			c := p.ClaimOf(noticed)
			if _, ok, err := s.Claim(t.Context(), c); ok || err != nil {
				t.Errorf("a claim: %v, %v", ok, err)
			}
			if again := p.Look(); again.Current != noticed.Current {
				t.Errorf("the store is %q and then %q", noticed.Current, again.Current)
			}
			errtest.NoError(t, s.Fence(t.Context(), terms, noticed.Fingerprint))
			fenced := p.Look()
			if fenced.Current != fenced.Fingerprint || fenced.Fence <= before.Fence {
				t.Errorf("fenced: %+v", fenced)
			}
			c.Fence = fenced.Fence
			if _, ok, err := s.Claim(t.Context(), c); !ok || err != nil {
				t.Errorf("a claim behind the fence: %v, %v", ok, err)
			}
		})
	}
}

// Operations that don't change the leases must not raise the fence, because a layout
// with long ticks would then have to wait for the next tick.
func TestNoFalseAlarm(t *testing.T) {
	s, p := newStore(t)
	dir := filepath.Join(filepath.Dir(s.path), "leases")
	for _, what := range []string{
		"touch $0/*", "chmod -R go+rx $0", "chown -R $(id -u):$(id -g) $0", "ln $0/*.leases $0/link; rm $0/link",
		"mv $0 $0.away; mv $0.away $0", "cp -R $0 $0.copy; rm -r $0.copy", "mv $0 " + dir,
	} {
		t.Run(what, func(t *testing.T) {
			if out, err := exec.Command("sh", "-ec", what, s.path).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", what, err, out)
			}
			if _, err := os.Stat(dir); err == nil {
				s.path = dir
			}
			if p := (&kvtest.Process{T: t, Store: s}).Look(); p.Current != p.Fingerprint {
				t.Errorf("%s: %+v", what, p)
			}
		})
	}
	if !p.Renewed(t.Context()) {
		t.Error("the lease is lost")
	}
}
