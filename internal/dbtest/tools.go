package dbtest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

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
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		missing(t, &absentError{strings.Join(command, " "), "npm", fmt.Errorf("%w\n%s", err, out[max(0, len(out)-500):])})
	}
}
