//go:build modules

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A scratch is a clone of HEAD.
type scratch struct{ dir string }

func newScratch(t *testing.T) scratch {
	t.Helper()
	root := dbtest.Must(git(".", "rev-parse", "--show-toplevel"))(t)
	s := scratch{filepath.Join(t.TempDir(), "clone")}
	dbtest.Must(git(root, "clone", "--quiet", "--no-tags", root, s.dir))(t)
	return s
}

func (s scratch) git(t *testing.T, args ...string) string {
	t.Helper()
	return dbtest.Must(git(s.dir, append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)...))(t)
}

// release runs the clone's program. We leave the modules' own tests to TestModules.
func (s scratch) release(t *testing.T, args ...string) (out string, ok bool) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"run", "./test/modproxy/release", "-test=false"}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(s.dir, "go.work"),
		"GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com")
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

// wantRefused checks that the program refuses to run with the given error, and that it
// doesn't change anything.
func (s scratch) wantRefused(t *testing.T, want string, args ...string) {
	t.Helper()
	before := s.git(t, "status", "--porcelain") + s.git(t, "tag")
	if out, ok := s.release(t, args...); ok || !strings.Contains(out, want) {
		t.Errorf("release %q: got success %v, want a failure with %q\n%s", args, ok, want, out)
	}
	if after := s.git(t, "status", "--porcelain") + s.git(t, "tag"); after != before {
		t.Errorf("release %q changed the clone from %q to %q", args, before, after)
	}
}

// A release takes two steps, which are the versions in the go.mod files and the tags.
func TestRelease(t *testing.T) {
	s := newScratch(t)
	const version = "v0.99.0"
	for _, bad := range []string{"0.2.0", "v0.2", "v2.0.0", "v0.2.0+meta", "latest"} {
		s.wantRefused(t, "is no version of these modules", bad)
	}
	s.wantRefused(t, "HEAD has another version", "-tag", version)

	out, ok := s.release(t, version)
	if !ok {
		t.Fatal(out)
	}
	changed := strings.Fields(s.git(t, "diff", "--name-only"))
	if !slices.Contains(changed, "cmd/snowkey/go.mod") || !slices.Contains(changed, "go.work") || !slices.Contains(changed, "lowest.work") || !slices.Contains(changed, "newest.work") {
		t.Errorf("the files %v changed", changed)
	}
	for line := range strings.SplitSeq(s.git(t, "diff", "--unified=0"), "\n") {
		if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++") && !strings.Contains(line, "github.com/snowkey-go/snowkey") {
			t.Errorf("this line changed: %s", line)
		}
	}
	s.wantRefused(t, "the work tree has changes", version)

	s.git(t, "commit", "--quiet", "--all", "--message", "release")
	if out, ok := s.release(t, "-tag", version); !ok {
		t.Fatal(out)
	}
	tags := strings.Fields(s.git(t, "tag", "--points-at", "HEAD"))
	for _, want := range []string{version, "cmd/snowkey/" + version, "ent/entid/" + version, "hooks/gormid/" + version, "internal/dbtest/" + version} {
		if !slices.Contains(tags, want) {
			t.Errorf("HEAD has the tags %v, and not %s", tags, want)
		}
	}
	for _, tag := range tags {
		if strings.HasPrefix(tag, "test/") || strings.HasPrefix(tag, "bench/") || strings.HasPrefix(tag, "examples/") {
			t.Errorf("%s is a tag of a module that is not published", tag)
		}
	}
	s.wantRefused(t, version+" exists", version)
}

// If a module can't be built without the workspace, the check must fail.
func TestReleaseChecks(t *testing.T) {
	s := newScratch(t)
	name := filepath.Join(s.dir, "ent", "entid", "go.mod")
	mod := dbtest.Must(os.ReadFile(name))(t)
	// The module can still be built within the workspace.
	without := strings.Replace(string(mod), "require github.com/snowkey-go/snowkey ", "// ", 1)
	if without == string(mod) {
		t.Fatal("entid does not require the root module")
	}
	dbtest.NoError(t, os.WriteFile(name, []byte(without), 0o644))
	s.git(t, "commit", "--quiet", "--all", "--message", "broken")
	s.wantRefused(t, "github.com/snowkey-go/snowkey/ent/entid", "v0.99.0")
}
