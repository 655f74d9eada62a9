// Release prepares a version of all published modules of this repository.
//
//	go run ./test/modproxy/release v0.2.0         prepare the version
//	go run ./test/modproxy/release -tag v0.2.0    tag the commit that has it
//
// The first run clones HEAD, and makes the modules in the clone require the new version
// of each other. In the clone, TestModules of package modproxy checks each module in the
// form in which users get it. If it passes, the program writes the new version to the
// go.mod and go.work files in the work tree. It doesn't commit anything.
//
// Once you have committed these files, the same command runs the same checks on the
// commit, and prints or creates a tag for each module.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/snowkey-go/snowkey/test/modproxy"
)

func main() {
	tag := flag.Bool("tag", false, "make the tags, if HEAD has the version")
	test := flag.Bool("test", true, "run the tests of the modules, beside vet")
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
	folders, err := published(clone)
	if err != nil {
		return err
	}
	var tags []string
	for _, folder := range folders {
		tags = append(tags, path.Join(folder, version))
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
	if err := check(clone, test); err != nil {
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

// published returns the folders of the modules in dir that users can require. This excludes
// the examples, the benchmarks and the module test, which don't have versions. A folder is
// also the prefix of the module's tags.
func published(dir string) (folders []string, err error) {
	files, err := git(dir, "ls-files", "go.mod", "*/go.mod")
	for name := range strings.FieldsSeq(files) {
		folder := path.Dir(name)
		if first, _, _ := strings.Cut(folder, "/"); !slices.Contains([]string{"bench", "examples", "test"}, first) {
			folders = append(folders, folder)
		}
	}
	return folders, err
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

// check tests the modules in the form in which users get them, in the workspace of dir.
func check(dir string, test bool) error {
	tags := "modules"
	if test {
		tags += ",nightly"
	}
	cmd := exec.Command("go", "test", "-count=1", "-timeout=0", "-tags="+tags, "-run=^TestModules$", "./test/modproxy")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd, err, out)
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
