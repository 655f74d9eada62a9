package dbtest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Chromium returns the path of a headless Chromium. It is looked for in the same places as
// the servers.
func Chromium(t TB) string {
	t.Helper()
	var path string
	find := func() bool {
		for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
			var err error
			if path, err = exec.LookPath(name); err == nil {
				return true
			}
		}
		return false
	}
	if err := obtain("chromium-headless-shell fonts-dejavu-core", "Chromium", find); err != nil {
		missing(t, err)
	}
	return path
}

// NPM returns the command that runs a package of npm, such as @redocly/cli@1.34.3. If npx
// is not on this machine or cannot fetch the package, the test can't run.
func NPM(t TB, name string) []string {
	t.Helper()
	command := []string{"npx", "--yes", name}
	if out, err := exec.Command(command[0], append(command[1:], "--version")...).CombinedOutput(); err != nil {
		missing(t, &absentError{"npx with " + name, "npm", fmt.Errorf("%w\n%s", err, out[max(0, len(out)-500):])})
	}
	return command
}

// NPMFolder installs a package of npm, such as axe-core@4.10.2, and returns its folder. If
// npm is not on this machine or cannot fetch the package, the test can't run.
func NPMFolder(t TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("npm", "install", "--no-audit", "--no-fund", "--prefix", dir, name).CombinedOutput(); err != nil {
		missing(t, &absentError{"npm with " + name, "npm", fmt.Errorf("%w\n%s", err, out[max(0, len(out)-500):])})
	}
	return filepath.Join(dir, "node_modules", name[:strings.LastIndex(name, "@")])
}
