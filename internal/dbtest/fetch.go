package dbtest

import (
	_ "embed"
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
	var paths []string
	Obtain(t, packages, strings.Join(names, " or "), func() bool {
		paths = candidates(names...)
		return len(paths) > 0
	})
	return paths[0]
}

// NPM returns the command that runs a package of npm, such as @redocly/cli@1.34.3. If npx
// is not on this machine or cannot fetch the package, the test can't run.
func NPM(t TB, name string) []string {
	t.Helper()
	npm(t, "npx", "--yes", name, "--version")
	return []string{"npx", "--yes", name}
}

// NPMFolder installs a package of npm, such as axe-core@4.10.2, and returns its folder. If
// npm is not on this machine or cannot fetch the package, the test can't run.
func NPMFolder(t TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	npm(t, "npm", "install", "--no-audit", "--no-fund", "--prefix", dir, name)
	return filepath.Join(dir, "node_modules", name[:strings.LastIndex(name, "@")])
}

func npm(t TB, command ...string) {
	t.Helper()
	what := strings.Join(command, " ")
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		missing(t, &absentError{what, "npm", fetchError(what, err, out)})
	}
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
	needs, packages string
	err             error // why we couldn't fetch them, if we tried
}

func (e *absentError) Error() string {
	text := fmt.Sprintf("dbtest: this test needs %s on this machine (apt-get install %s)", e.needs, e.packages)
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

func (e *absentError) Unwrap() error { return e.err }

// fetchError adds the end of a log to err, if it's not nil.
func fetchError(packages string, err error, log []byte) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fetch %s: %w; the log ends:\n%s", packages, err, log[max(0, len(log)-2000):])
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
// already there, and lets this process find their programs. It doesn't install anything,
// so the system remains unchanged.
func fetch(packages string) error {
	dir, err := unpacked("", packages)
	if err != nil {
		return err
	}
	return locked(func() error { return usePrograms(dir) })
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
		cmd := exec.Command("sh", append([]string{"-c", fetchScript, "fetch", part, suite}, strings.Fields(packages)...)...)
		cmd.Stderr = os.Stderr // a single line that says how much is being downloaded
		err := cmd.Run()
		log, _ := os.ReadFile(filepath.Join(part, "log"))
		return fetchError(packages, err, log)
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

// usePrograms lets this process and its children find the programs and libraries that
// were unpacked into dir. We append to the search paths so that the system's own
// programs come first. PATH comes last, because another test may find the program at once,
// and needs its libraries then.
func usePrograms(dir string) error {
	if err := appendPaths("LD_LIBRARY_PATH", dir, "usr/lib/*-linux-gnu*", "lib/*-linux-gnu*", "usr/lib/*-linux-gnu*/pulseaudio"); err != nil {
		return err
	}
	return appendPaths("PATH", dir, "usr/lib/postgresql/*/bin", "usr/lib/jvm/*/bin", "usr/lib/chromium", "usr/sbin", "usr/bin")
}

func appendPaths(variable, dir string, patterns ...string) error {
	paths := filepath.SplitList(os.Getenv(variable))
	for _, pattern := range patterns {
		found, _ := filepath.Glob(filepath.Join(dir, "root", pattern))
		paths = append(paths, found...)
	}
	return os.Setenv(variable, strings.Join(paths, string(filepath.ListSeparator)))
}

// cacheDir returns the folder for packages of this system, and creates it if necessary.
func cacheDir() (string, error) {
	dir := os.Getenv("SNOWKEY_TEST_CACHE")
	switch {
	case dir != "":
	case os.Geteuid() == 0:
		dir = "/var/cache" // if we're root, the server runs under an account that may not be able to enter our home
	default:
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
