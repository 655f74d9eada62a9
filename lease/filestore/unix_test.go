//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filestore

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/errtest"
	"github.com/snowkey-go/snowkey/lease"
)

// The directory is deleted while a call has its lock, and other processes create it
// again. The call must return an error, and must not change either directory.
func TestDirectoryIsDeletedInUse(t *testing.T) {
	s, held := newStore(t, 1)
	s.clock = func() time.Time {
		os.RemoveAll(s.path)
		other := Dir(s.path)
		err := other.Migrate(t.Context())
		_, created := other.CreateNamespace(t.Context(), terms, 0)
		if err := errors.Join(err, created); err != nil {
			t.Error(err)
		}
		return time.Now()
	}
	_, ok, err := s.Renew(t.Context(), lease.Renewal{Terms: terms, Held: held, Token: "second"})
	if ok || !isUnusable(s, err) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, %v", ok, err)
	}
	s.clock = nil
	if p := probe(t, s); !p.HasNamespace || p.HasRow {
		t.Errorf("the new directory has %+v", p)
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
			s, held := newStore(t, 2)
			dir := filepath.Join(filepath.Dir(s.path), "leases")
			errtest.NoError(t, os.Rename(s.path, dir))
			s.path = dir
			sh(tc.backup)(t, dir)
			if !renewed(t, s, held) {
				t.Fatal("the lease is lost")
			}
			before := probe(t, s)
			if before.Current != before.Fingerprint {
				t.Fatalf("before: %+v", before)
			}
			sh(tc.restore)(t, dir)
			noticed := probe(t, s)
			if noticed.Current == noticed.Fingerprint {
				t.Fatalf("not noticed: %+v", noticed)
			}
			// Other updates must not hide that the file was restored.
			errtest.NoError(t, s.AddRows(t.Context(), terms, 2, 2))
			c := lease.Claim{Terms: terms, Seen: noticed.Row, Fence: noticed.Fence, Token: "another", Wanted: 1 << 62}
			if _, ok, err := s.Claim(t.Context(), c); ok || err != nil {
				t.Errorf("a claim: %v, %v", ok, err)
			}
			if again := probe(t, s); again.Current != noticed.Current {
				t.Errorf("the store is %q and then %q", noticed.Current, again.Current)
			}
			errtest.NoError(t, s.Fence(t.Context(), terms, noticed.Fingerprint))
			fenced := probe(t, s)
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
	s, held := newStore(t, 2)
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
			if p := probe(t, s); p.Current != p.Fingerprint {
				t.Errorf("%s: %+v", what, p)
			}
		})
	}
	if !renewed(t, s, held) {
		t.Error("the lease is lost")
	}
}
