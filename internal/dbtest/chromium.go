package dbtest

import "os/exec"

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

// Programs fails the test, or reports that it was not run, if one of the programs isn't in
// the path. Packages are those of Debian that have them.
func Programs(t TB, packages string, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			missing(t, &absentError{name, packages, err})
		}
	}
}
