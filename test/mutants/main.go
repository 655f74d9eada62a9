// The program mutants plants faults in Snowkey, one at a time, and checks that the fast
// tests fail:
//
//	go run ./internal/dbtest/withdb go run ./test/mutants                  # all, as make mutants does
//	go run ./internal/dbtest/withdb go run ./test/mutants 'gormid|keeper'  # those whose name matches
//
// Each file *.patch has a fault. Its first line says what is broken, and a line "tests:"
// has the arguments of the go test that should notice: packages, the fastest first, and
// perhaps -run with a pattern. Everything else is a patch that git apply takes.
//
// The faults are patches because most of what a mutation tool makes changes nothing that
// anybody would notice, such as a log text or the size of a buffer, and it can't change
// SQL and Lua. There are also far too many of its faults for a night. Each of these
// patches breaks a promise of the documentation.
//
// The work tree isn't changed. The go command gets the changed files by -overlay, so only
// the packages that import them are compiled again.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	flag.Parse()
	if err := check(regexp.MustCompile(flag.Arg(0))); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func check(wanted *regexp.Regexp) error {
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	if err := os.Chdir(strings.TrimSpace(string(out))); err != nil {
		return err
	}
	var mutants []mutant
	files, _ := filepath.Glob("test/mutants/*.patch")
	for _, file := range files {
		if m, err := read(file); err != nil {
			return err
		} else if wanted.MatchString(m.name) {
			mutants = append(mutants, m)
		}
	}
	if len(mutants) == 0 {
		return fmt.Errorf("no patch has a name that matches %q", wanted)
	}

	// A test that fails without a fault shows nothing when it fails with one.
	began, passes := time.Now(), make(map[string]bool)
	for _, m := range mutants {
		for _, args := range m.tests {
			if command := strings.Join(args, " "); !passes[command] {
				if result, output := test(args, ""); result != passed {
					return fmt.Errorf("go test %s fails without a fault:\n%s", command, output)
				}
				passes[command] = true
			}
		}
	}
	fmt.Printf("%d commands of tests pass without a fault, in %v\n", len(passes), time.Since(began).Round(time.Second))

	bad := 0
	for _, m := range mutants {
		began := time.Now()
		result, how := m.run()
		if result != failed {
			bad++
		}
		fmt.Printf("%-10s %5.1fs  %-26s %s\n", map[string]string{failed: "caught", passed: "SURVIVED"}[result]+map[bool]string{true: "ERROR"}[result == broken],
			time.Since(began).Seconds(), m.name, m.breaks)
		fmt.Printf("%20s%s\n", "", how)
	}
	fmt.Printf("%d of %d faults were caught, in %v\n", len(mutants)-bad, len(mutants), time.Since(began).Round(time.Second))
	if bad > 0 {
		return errors.New("see the lines SURVIVED and ERROR")
	}
	return nil
}

// A mutant is a patch.
type mutant struct {
	name, breaks string
	file         string     // that it changes
	patch        string     // its path
	tests        [][]string // arguments of go test, in the order in which they run
}

var (
	testsLine = regexp.MustCompile(`(?m)^tests: (.*?)(?: -run (\S+))?$`)
	fileLine  = regexp.MustCompile(`(?m)^--- a/(\S+)`)
)

func read(path string) (m mutant, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	tests, files := testsLine.FindStringSubmatch(string(text)), fileLine.FindAllStringSubmatch(string(text), -1)
	if tests == nil || len(files) != 1 {
		return m, fmt.Errorf("%s: has no line of tests, or is not a patch of one file", path)
	}
	m.name, m.file = strings.TrimSuffix(filepath.Base(path), ".patch"), files[0][1]
	m.breaks, _, _ = strings.Cut(string(text), "\n")
	m.patch, err = filepath.Abs(path)
	for pkg := range strings.FieldsSeq(tests[1]) {
		args := []string{pkg}
		if tests[2] != "" {
			args = append(args, "-run", tests[2])
		}
		m.tests = append(m.tests, args)
	}
	return m, err
}

// The results of a test.
const (
	passed = "passed"
	failed = "failed"
	broken = "broken" // it didn't run
)

// run runs the tests of m until one fails. how is the test that failed, or what is wrong.
func (m mutant) run() (result, how string) {
	overlay, err := m.overlay()
	if overlay != "" {
		defer os.RemoveAll(filepath.Dir(overlay))
	}
	if err != nil {
		return broken, err.Error()
	}
	for _, args := range m.tests {
		result, output := test(args, overlay)
		switch result {
		case failed:
			return failed, "by " + failure(output) + " of " + args[0]
		case broken:
			return broken, output
		}
	}
	return passed, fmt.Sprint("by ", m.tests)
}

// overlay writes the changed file, and returns the path of the go command's -overlay.
func (m mutant) overlay() (string, error) {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return "", err
	}
	overlay, changed := filepath.Join(dir, "overlay.json"), filepath.Join(dir, m.file)
	text, err := os.ReadFile(m.file)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(changed), 0o755)
	}
	if err == nil {
		err = os.WriteFile(changed, text, 0o644)
	}
	if err != nil {
		return overlay, err
	}
	apply := exec.Command("git", "apply", "--unidiff-zero", m.patch)
	apply.Dir, apply.Env = dir, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := apply.CombinedOutput(); err != nil {
		return overlay, fmt.Errorf("does not apply: %s", out)
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return overlay, err
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return overlay, err
	}
	return overlay, os.WriteFile(overlay, list, 0o644)
}

// test runs go test with the given arguments and overlay. A test that takes longer than
// two minutes has failed.
func test(args []string, overlay string) (result, output string) {
	cmd := exec.Command("go", append([]string{"test", "-tags", "clients", "-count=1", "-failfast", "-vet=off", "-timeout=10m"}, args...)...)
	if overlay != "" { // also for the go commands that tests run
		cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	out, err := cmd.CombinedOutput()
	switch {
	case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
		return broken, string(out)
	case err != nil:
		return failed, string(out)
	case !bytes.HasPrefix(out, []byte("ok")) || bytes.Contains(out, []byte("[no tests to run]")):
		return broken, string(out)
	}
	return passed, string(out)
}

var failures = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^panic: (test timed out after \w+)|^(panic: .*|fatal error: .*)`)

// failure returns the first failure in the output of go test: the innermost test.
func failure(output string) string {
	all := failures.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		return "a failure"
	}
	first := slices.MaxFunc(all, func(a, b []string) int { return strings.Count(a[1], "/") - strings.Count(b[1], "/") })
	return strings.Join(first[1:], "")
}
