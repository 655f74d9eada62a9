package dbtest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// folders are the patterns of the folders outside PATH where systems put programs. The
// PATH of ordinary users often lacks sbin.
var folders = []string{
	"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
	"/usr/libexec", // Fedora
	"/opt/homebrew/bin", "/opt/homebrew/sbin",
	"/usr/lib/postgresql/*/bin", // Debian and Ubuntu
	"/usr/pgsql-*/bin",          // PGDG's packages for Fedora
	"/usr/libexec/postgresql*",  // Alpine
	"/usr/local/mysql/bin",      // MySQL's own packages
	"/opt/homebrew/opt/*/bin", "/usr/local/opt/*/bin",
}

// root is before each of the folders. Tests set it.
var root string

// candidates returns the paths of all programs with one of the names. All of the first
// name come before those of the second. Those in PATH come first.
func candidates(names ...string) (paths []string) {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	for _, pattern := range folders {
		found, _ := filepath.Glob(root + pattern)
		dirs = append(dirs, found...)
	}
	return programs(dirs, names...)
}

// programs returns the paths of the programs in dirs that have one of the names.
func programs(dirs []string, names ...string) (paths []string) {
	for _, name := range names {
		for _, dir := range dirs {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// beside returns the paths of the programs that belong to the same installation as path,
// which may be a link, followed by all others with one of the names.
func beside(path string, names ...string) []string {
	target, _ := filepath.EvalSymlinks(path)
	var dirs []string
	for _, path := range []string{path, cmp.Or(target, path)} {
		dir := filepath.Dir(path)
		for _, folder := range []string{dir, dir + "/../bin", dir + "/../sbin", dir + "/../scripts"} {
			dirs = append(dirs, filepath.Clean(folder))
		}
	}
	return append(programs(dirs, names...), candidates(names...)...)
}

// versionOf returns what a program prints when it is asked for its version, or an empty
// string if it does not run.
func versionOf(path, option string) string {
	out, err := exec.Command(path, option).CombinedOutput()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
