//go:build unix

package dbtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kinds are what the programs of fake machines answer to --version. A program of another
// kind is Postgres of that version.
var kinds = map[string]string{
	"mariadb": "$0  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)",
	"mysql":   "$0  Ver 8.4.6 for Linux on x86_64 (MySQL Community Server - GPL)",
	"other":   "", // a script that must not be run, or a program that does not run here
}

// plant creates a file below root.
func plant(t *testing.T, words []string) {
	t.Helper()
	path := filepath.Join(root, words[0])
	NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if words[1] == "->" {
		NoError(t, os.Symlink(words[2], path))
		return
	}
	version, ok := kinds[words[1]]
	if !ok {
		version = filepath.Base(path) + " (PostgreSQL) " + words[1] + " (Debian)"
	}
	script := "#!/bin/sh\n[ \"$1\" = --version ] && [ -n '" + version + "' ] && echo \"" + version + "\"\n"
	NoError(t, os.WriteFile(path, []byte(script), 0o755))
}

func TestProgramsAreFound(t *testing.T) {
	emptyMachine(t)
	sets := make(map[string][]string)
	for paragraph := range strings.SplitSeq(string(Must(os.ReadFile("testdata/machines.txt"))(t)), "\nmachine ") {
		name, lines, _ := strings.Cut(paragraph, "\n")
		root = t.TempDir()
		want := make(map[string]string)
		set := ""
		for line := range strings.Lines(lines) {
			words := strings.Fields(line)
			switch {
			case len(words) == 0 || words[0] == "#":
			case words[0] == "set":
				set = words[1]
			case set != "":
				sets[set] = append(sets[set], line)
			case strings.HasPrefix(words[0], "/"):
				plant(t, words)
			case len(words) > 1 && words[1] == "=":
				want[words[0]] = strings.Join(words[2:], " ")
			default:
				arguments := strings.NewReplacer("$1", words[min(1, len(words)-1)], "$2", words[len(words)-1])
				for _, file := range sets[words[0]] {
					plant(t, strings.Fields(arguments.Replace(file)))
				}
			}
		}
		for _, path := range []string{"", "/usr/bin:/bin", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "/opt/homebrew/bin:/usr/local/bin:/usr/bin:/bin"} {
			if path != "" {
				path = root + strings.ReplaceAll(path, ":", ":"+root)
			}
			t.Setenv("PATH", path)
			got := make(map[string]string)
			for name := range want {
				got[name] = strings.Join(candidates(name), " ")
			}
			server, installer, _ := mysqlPrograms()
			got["mysql"] = strings.TrimSpace(server + " " + installer)
			initdb, server, ok := postgresPrograms()
			got["postgres"] = ""
			if ok {
				got["postgres"] = strings.Join(slices.Compact([]string{filepath.Dir(server), filepath.Dir(initdb)}), " ")
			}
			for program, found := range got {
				if found := strings.ReplaceAll(found, root, ""); found != want[program] {
					t.Errorf("%s, PATH=%s: found %s in %q, want %q", name, path, program, found, want[program])
				}
			}
		}
	}
}
