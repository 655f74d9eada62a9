package dbtest

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

//go:embed fetch.sh
var fetchScript string

// Program returns the path of a program, which may have one of several names. It is
// looked for in the same places as the servers. If it is not there, packages of Debian
// and Ubuntu are fetched.
func Program(t TB, packages string, names ...string) string {
	t.Helper()
	path, err := program(packages, names...)
	if err != nil {
		missing(t, err)
	}
	return path
}

func program(packages string, names ...string) (path string, err error) {
	err = obtain(packages, strings.Join(names, " or "), func() bool {
		paths := append(candidates(names...), "")
		path = paths[0]
		return path != ""
	})
	return path, err
}

// NPMFolder returns the folder of a package of npm, such as axe-core@4.10.2, which it fetches
// into the cache.
func NPMFolder(t TB, name string) string {
	t.Helper()
	dir, err := npmFolder(name)
	if err != nil {
		missing(t, &absentError{name, "npm", err})
	}
	return dir
}

func npmFolder(name string) (string, error) {
	dir, err := cached("npm-"+strings.ReplaceAll(name, "/", "-"), func(part string) error {
		return fetchWith(name, exec.Command("npm", "install", "--no-audit", "--no-fund", "--prefix", part, name))
	})
	return filepath.Join(dir, "node_modules", name[:strings.LastIndex(name, "@")]), err
}

// Obtain makes sure that find succeeds, for which it may fetch the packages of Debian and
// Ubuntu. Otherwise the test can't run.
func Obtain(t TB, packages, needs string, find func() bool) {
	t.Helper()
	if err := obtain(packages, needs, find); err != nil {
		missing(t, err)
	}
}

// obtain returns an absentError if find fails and the packages can't be fetched.
func obtain(packages, needs string, find func() bool) error {
	if find() {
		return nil
	}
	if !mayFetch() {
		return &absentError{needs, packages, nil}
	}
	if err := fetch(packages); err != nil {
		return &absentError{needs, packages, err}
	}
	if !find() {
		return fmt.Errorf("dbtest: the packages %s do not have %s", packages, needs)
	}
	return nil
}

// An absentError names programs that aren't on this machine.
type absentError struct {
	needs, packages string // no packages if a version was to be fetched
	err             error  // why we couldn't fetch them, if we tried
}

func (e *absentError) Error() string {
	text := "dbtest: this test needs " + e.needs
	if e.packages != "" {
		text += " on this machine (apt-get install " + e.packages + ")"
	}
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

func (e *absentError) Unwrap() error { return e.err }

// missing ends a test whose program did not start. See NotRun if that is because the
// program isn't there.
func missing(t TB, err error) {
	t.Helper()
	if _, absent := errors.AsType[*absentError](err); !absent {
		t.Fatalf("%v", err)
	}
	NotRun(t, err.Error())
}

// NotRun ends a test that can't run because a program isn't there. The test fails unless
// SNOWKEY_TEST_MISSING names a file, in which case we skip the test and append its name
// to the file.
func NotRun(t TB, why string) {
	t.Helper()
	file := os.Getenv("SNOWKEY_TEST_MISSING")
	if file == "" {
		t.Fatalf("%s", why)
	}
	names, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(names, t.Name())
		err = errors.Join(err, names.Close())
	}
	NoError(t, err)
	t.Skipf("not run: %s", why)
}

// fetchWith runs a command. The error has the end of what the command has printed.
func fetchWith(what string, cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("fetch %s: %w; the log ends:\n%s", what, err, out[max(0, len(out)-2000):])
	}
	return nil
}

var debianLike = regexp.MustCompile(`(?m)^ID(_LIKE)?=.*\b(debian|ubuntu)\b`)

// mayFetch reports whether this is Debian, Ubuntu or a derivative, whose packages can
// be unpacked without being root.
func mayFetch() bool {
	_, noApt := exec.LookPath("apt-get")
	_, noDpkg := exec.LookPath("dpkg-deb")
	return noApt == nil && noDpkg == nil && debianLike.MatchString(osRelease())
}

// fetch unpacks packages, a space-separated list, into the cache unless they are
// already there, and lets this process and its children find their programs and libraries.
// It doesn't install anything, so the system remains unchanged. We append to the search
// paths so that the system's own programs come first. PATH comes last, because another test
// may find the program at once, and needs its libraries then.
func fetch(packages string) error {
	dir, err := unpacked("", packages)
	if err != nil {
		return err
	}
	return locked(func() error {
		for _, use := range [][]string{
			{"LD_LIBRARY_PATH", "usr/lib/*-linux-gnu*", "lib/*-linux-gnu*"},
			{"PATH", "usr/lib/postgresql/*/bin", "usr/lib/jvm/*/bin", "usr/sbin", "usr/bin"},
		} {
			paths := filepath.SplitList(os.Getenv(use[0]))
			for _, pattern := range use[1:] {
				found, _ := filepath.Glob(filepath.Join(dir, "root", pattern))
				paths = append(paths, found...)
			}
			os.Setenv(use[0], strings.Join(paths, string(filepath.ListSeparator)))
		}
		return nil
	})
}

// unpacked returns the folder of the cache with packages of a suite. If suite is empty,
// it's the system's own, and the dependencies that the system has aren't in the folder.
// Otherwise, the folder has all dependencies, even the C library.
func unpacked(suite, packages string) (dir string, err error) {
	name := strings.ReplaceAll(packages, " ", "+")
	if suite != "" {
		name += "-" + suite
	}
	return cached(name, func(part string) error {
		fmt.Fprintf(os.Stderr, "dbtest: fetching %s into %s; nothing is installed\n", packages, strings.TrimSuffix(part, ".part"))
		return fetchWith(packages, exec.Command("sh", append([]string{"-c", fetchScript, "fetch", part, suite}, strings.Fields(packages)...)...))
	})
}

// ofSuite returns the command that runs a program of a package of another suite of
// Debian. Its last word is the path of the program. The package needs a newer C library
// than this machine may have, so its own loader runs the program.
func ofSuite(suite, packages, program string) (command []string, err error) {
	dir, err := unpacked(suite, packages)
	if err != nil {
		return nil, err
	}
	loaders, _ := filepath.Glob(filepath.Join(dir, "root/usr/lib/*/ld-linux-*.so.*"))
	if len(loaders) != 1 {
		return nil, fmt.Errorf("%s has %d loaders, %q", dir, len(loaders), loaders)
	}
	return []string{loaders[0], "--library-path", filepath.Dir(loaders[0]), filepath.Join(dir, "root", program)}, nil
}

// cached returns the folder of the cache called name. If there's none, fill creates it
// under the path that it's given, where an earlier attempt may have left something.
func cached(name string, fill func(part string) error) (dir string, err error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(cache, name)
	exists := func() bool { _, err := os.Stat(dir); return err == nil }
	if exists() {
		return dir, nil
	}
	return dir, locked(func() error {
		if exists() {
			return nil // another process has filled it while we were waiting for the lock
		}
		if err := fill(dir + ".part"); err != nil {
			return err
		}
		return os.Rename(dir+".part", dir)
	})
}

// cacheDir returns the folder for packages of this system, and creates it if necessary.
func cacheDir() (string, error) {
	dir := os.Getenv("SNOWKEY_TEST_CACHE")
	if dir == "" && os.Geteuid() == 0 {
		dir = "/var/cache" // if we're root, the server runs under an account that may not be able to enter our home
	} else if dir == "" {
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			return "", err
		}
	}
	release := map[string]string{}
	for line := range strings.Lines(osRelease()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		release[name] = strings.Trim(value, `"'`)
	}
	dir = filepath.Join(dir, "snowkey", "servers", release["ID"]+"-"+release["VERSION_ID"]+"-"+runtime.GOARCH)
	return dir, os.MkdirAll(dir, 0o755)
}

func osRelease() string {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return ""
	}
	return string(text)
}
