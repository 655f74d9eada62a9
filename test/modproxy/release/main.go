// Release prepares a version of all published modules of this repository.
//
//	go run ./test/modproxy/release v0.2.0         prepare the version
//	go run ./test/modproxy/release -tag v0.2.0    tag the commit that has it
//
// The first run clones HEAD, and makes the modules in the clone require the new version
// of each other. Using a module proxy of the clone, it checks that each published
// module can be added to a program, builds, and passes its tests without the workspace.
// If so, it writes the new version to the go.mod and go.work files in the work tree. It
// doesn't commit anything.
//
// Once you have committed these files, the same command runs the same checks on the
// commit, and prints or creates a tag for each module.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"

	"github.com/snowkey-go/snowkey/test/modproxy"
)

func main() {
	tag := flag.Bool("tag", false, "make the tags, if HEAD has the version")
	test := flag.Bool("test", true, "run the tests of each module, beside vet")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "release: give one version, such as v0.2.0")
		os.Exit(2)
	}
	if err := release(flag.Arg(0), *tag, *test); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func release(version string, tag, test bool) error {
	if semver.Canonical(version) != version || !slices.Contains([]string{"v0", "v1"}, semver.Major(version)) {
		return fmt.Errorf("%q is no version of these modules; give one such as v0.2.0", version)
	}
	root, err := git(".", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	switch status, err := git(root, "status", "--porcelain"); {
	case err != nil:
		return err
	case status != "":
		return fmt.Errorf("the work tree has changes; commit them first:\n%s", status)
	}

	dir, err := os.MkdirTemp("", "snowkey-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	clone := filepath.Join(dir, "clone")
	if _, err := git(root, "clone", "--quiet", "--shared", root, clone); err != nil {
		return err
	}
	modules, err := published(clone)
	if err != nil {
		return err
	}
	var tags []string
	for _, m := range modules {
		tags = append(tags, path.Join(m.folder, version))
	}
	switch exist, err := git(root, append([]string{"tag", "--list"}, tags...)...); {
	case err != nil:
		return err
	case exist != "":
		return fmt.Errorf("%s exists: the tags are\n%s", version, exist)
	}

	changed, err := update(clone, version)
	if err != nil {
		return err
	}
	if tag && len(changed) > 0 {
		return fmt.Errorf("HEAD has another version; run this without -tag, and commit the changes. It would change\n%s", strings.Join(changed, "\n"))
	}
	if err := check(dir, version, modules, test); err != nil {
		return err
	}
	switch {
	case len(changed) > 0:
		if _, err := update(root, version); err != nil {
			return err
		}
		fmt.Printf("\nAll modules require %s now. These files changed:\n  %s\n", version, strings.Join(changed, "\n  "))
		fmt.Printf("Give CHANGELOG.md a section for %s, commit, and run the command again.\n", version)
	case tag:
		for _, name := range tags {
			if _, err := git(root, "tag", "-a", "-m", "release "+name, name); err != nil {
				return err
			}
		}
		fmt.Printf("\nHEAD is tagged. Push the tags:\n  git push origin %s\n", strings.Join(tags, " "))
	default:
		fmt.Printf("\nHEAD is ready. Tag it:\n")
		for _, name := range tags {
			fmt.Printf("  git tag -a -m 'release %s' %s\n", name, name)
		}
		fmt.Printf("  git push origin %s\n", strings.Join(tags, " "))
	}
	return nil
}

// A taggable is a module that users can require.
type taggable struct {
	modproxy.Module
	folder string // the module's folder within the repository, which its tags have as a prefix
}

// published returns the modules of the repository in dir that users can require, sorted
// by path. This excludes the examples, the benchmarks and the module test, which don't
// have versions.
func published(dir string) ([]taggable, error) {
	files, err := git(dir, "ls-files", "go.mod", "*/go.mod")
	if err != nil {
		return nil, err
	}
	var modules []taggable
	for name := range strings.FieldsSeq(files) {
		folder := path.Dir(name)
		first, _, _ := strings.Cut(folder, "/")
		if slices.Contains([]string{"bench", "examples", "test"}, first) {
			continue
		}
		mod, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		modules = append(modules, taggable{modproxy.Module{Path: modfile.ModulePath(mod), Dir: filepath.Join(dir, folder)}, folder})
	}
	slices.SortFunc(modules, func(a, b taggable) int { return cmp.Compare(a.Path, b.Path) })
	return modules, nil
}

// update sets the version in all go.mod and go.work files of dir, and returns the names
// of those that it has changed.
func update(dir, version string) (changed []string, err error) {
	files, err := git(dir, "ls-files", "go.mod", "*/go.mod", "*.work")
	if err != nil {
		return nil, err
	}
	for name := range strings.FieldsSeq(files) {
		before, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		after := modproxy.SetVersions(before, version)
		if bytes.Equal(before, after) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), after, 0o644); err != nil {
			return nil, err
		}
		changed = append(changed, name)
	}
	return changed, nil
}

// check builds and tests the modules in the form in which users get them. For this, it
// uses a proxy in dir that has no other modules of this repository.
func check(dir, version string, modules []taggable, test bool) error {
	proxy, programs := filepath.Join(dir, "proxy"), filepath.Join(dir, "bin")
	var ours []modproxy.Module
	for _, m := range modules {
		ours = append(ours, m.Module)
	}
	if err := modproxy.Write(proxy, version, ours); err != nil {
		return err
	}
	env, err := modproxy.Env(proxy, filepath.Join(dir, "cache"))
	if err != nil {
		return err
	}
	// The tests must not depend on which databases this machine has.
	env = append(env, "GOBIN="+programs, "SNOWKEY_TEST_DB=sqlite")
	run := func(dir string, args ...string) error {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}

	for i, m := range modules {
		fmt.Println("checking", m.Path+"@"+version)
		v := module.Version{Path: m.Path, Version: version}

		source := filepath.Join(dir, fmt.Sprint("source", i))
		if err := zip.Unzip(source, v, modproxy.Zip(proxy, v)); err != nil {
			return err
		}
		if err := run(source, "vet", "./..."); err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		// With -mod=mod, go would add any missing requirement.
		before, err1 := os.ReadFile(filepath.Join(m.Dir, "go.mod"))
		after, err2 := os.ReadFile(filepath.Join(source, "go.mod"))
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if !bytes.Equal(before, after) {
			return fmt.Errorf("%s: go.mod is not complete; run make tidy. It became\n%s", m.Path, after)
		}
		// Use the clone for this, because some tests read other files of the
		// repository.
		if test {
			if err := run(m.Dir, "test", "./..."); err != nil {
				return fmt.Errorf("%s: %w", m.Path, err)
			}
		}

		program := filepath.Join(dir, fmt.Sprint("program", i))
		if err := os.Mkdir(program, 0o755); err != nil {
			return err
		}
		for _, args := range [][]string{
			{"mod", "init", "example.com/program"},
			{"get", m.Path + "@" + version},
			{"build", m.Path + "/..."},
		} {
			if err := run(program, args...); err != nil {
				return fmt.Errorf("%s: in a program that requires it: %w", m.Path, err)
			}
		}
		if strings.HasPrefix(m.folder, "cmd/") {
			if err := run(dir, "install", m.Path+"@"+version); err != nil {
				return err
			}
			name := filepath.Join(programs, path.Base(m.folder))
			if out, err := exec.Command(name, "-h").CombinedOutput(); err != nil {
				return fmt.Errorf("%s -h: %w\n%s", path.Base(m.folder), err, out)
			}
		}
	}
	return nil
}

// git returns the output of git, without the final newline.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimRight(string(out), "\n"), nil
}
