//go:build unix

package dbtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programsOf are scripts that answer --version as the programs do, and fail otherwise.
var programsOf = map[string]string{
	"mariadb": "$0  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)",
	"mysql":   "$0  Ver 8.4.6 for Linux on x86_64 (MySQL Community Server - GPL)",
	"other":   "", // a script that must not be run, or a program that does not run here
}

// plant creates an empty machine with some files, each "path of a link -> target" or
// "path of a program, and which one it is".
func plant(t *testing.T, files string) {
	t.Helper()
	old := root
	t.Cleanup(func() { root = old })
	root = t.TempDir()
	for file := range strings.FieldsFuncSeq(files, func(c rune) bool { return c == ',' || c == '\n' }) {
		words := strings.Fields(file)
		path := filepath.Join(root, words[0])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if words[1] == "->" {
			if err := os.Symlink(words[2], path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		version, ok := programsOf[words[1]]
		if !ok { // a version of Postgres
			version = filepath.Base(path) + " (PostgreSQL) " + words[1] + " (Debian)"
		}
		script := "#!/bin/sh\n[ \"$1\" = --version ] && [ -n '" + version + "' ] && echo \"" + version + "\"\n"
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProgramsAreFound(t *testing.T) {
	const (
		debian = "/usr/sbin/mariadbd mariadb, /usr/sbin/mysqld -> mariadbd, /usr/bin/mariadb-install-db other, /usr/bin/mysql_install_db -> mariadb-install-db"
		fedora = "/usr/libexec/mariadbd mariadb, /usr/libexec/mysqld -> mariadbd, /usr/bin/mariadb-install-db other"
		arch   = "/usr/bin/mariadbd mariadb, /usr/bin/mysqld -> mariadbd, /usr/bin/mariadb-install-db other" // Alpine, too
		own    = "/usr/local/mysql/bin/mysqld mysql"                                                         // MySQL's own packages
	)
	brew := func(dir string) string {
		return strings.ReplaceAll("BREW/Cellar/mariadb/12.0.2/bin/mariadbd mariadb, BREW/Cellar/mariadb/12.0.2/bin/mariadb-install-db other, "+
			"BREW/opt/mariadb -> ../Cellar/mariadb/12.0.2, BREW/bin/mariadbd -> ../Cellar/mariadb/12.0.2/bin/mariadbd, "+
			"BREW/Cellar/postgresql@17/17.6/bin/postgres 17.6, BREW/Cellar/postgresql@17/17.6/bin/initdb 17.6, BREW/opt/postgresql@17 -> ../Cellar/postgresql@17/17.6", "BREW", dir)
	}
	bin := func(dir, version string) string {
		return dir + "/postgres " + version + ", " + dir + "/initdb " + version
	}
	for _, tc := range []struct{ system, files, mysql, postgres string }{
		{"nothing", "", "", ""},
		{"Debian 12 with MariaDB", debian + "," + bin("/usr/lib/postgresql/15/bin", "15.14"), "/usr/sbin/mariadbd /usr/bin/mariadb-install-db", "/usr/lib/postgresql/15/bin"},
		{"Debian 13 with MariaDB, and PGDG", debian + "," + bin("/usr/lib/postgresql/17/bin", "17.6") + "," + bin("/usr/lib/postgresql/9.6/bin", "9.6.24") + "," + bin("/usr/lib/postgresql/18/bin", "18beta1"),
			"/usr/sbin/mariadbd /usr/bin/mariadb-install-db", "/usr/lib/postgresql/18/bin"},
		{"MariaDB that has only its old names", "/usr/sbin/mysqld mariadb, /usr/bin/mysql_install_db other", "/usr/sbin/mysqld /usr/bin/mysql_install_db", ""},
		{"MariaDB without the program for data directories", "/usr/sbin/mysqld mariadb", "", ""},
		{"Debian or Ubuntu with MySQL", "/usr/sbin/mysqld mysql", "/usr/sbin/mysqld ", ""},
		{"Debian or Ubuntu with both", debian + "," + own, "/usr/sbin/mariadbd /usr/bin/mariadb-install-db", ""},
		{"MariaDB's link without its program", "/usr/sbin/mysqld mariadb," + own, "/usr/local/mysql/bin/mysqld ", ""},
		{"a server that does not run", "/usr/sbin/mariadbd other, /usr/bin/mariadb-install-db other," + own, "/usr/local/mysql/bin/mysqld ", ""},
		{"Fedora with MariaDB", fedora + "," + bin("/usr/bin", "16.9"), "/usr/libexec/mariadbd /usr/bin/mariadb-install-db", "/usr/bin"},
		{"Fedora with MySQL and PGDG", "/usr/libexec/mysqld mysql," + bin("/usr/pgsql-16/bin", "16.9") + "," + bin("/usr/pgsql-17/bin", "17.6"), "/usr/libexec/mysqld ", "/usr/pgsql-17/bin"},
		{"Fedora with both", fedora + "," + own, "/usr/libexec/mariadbd /usr/bin/mariadb-install-db", ""},
		{"Arch with MariaDB", arch + "," + bin("/usr/bin", "17.6"), "/usr/bin/mariadbd /usr/bin/mariadb-install-db", "/usr/bin"},
		{"Arch with MySQL", "/usr/bin/mysqld mysql", "/usr/bin/mysqld ", ""},
		{"Alpine", arch + "," + bin("/usr/libexec/postgresql17", "17.6"), "/usr/bin/mariadbd /usr/bin/mariadb-install-db", "/usr/libexec/postgresql17"},
		{"Alpine with links in bin", bin("/usr/libexec/postgresql17", "17.6") + ",/usr/bin/postgres -> ../libexec/postgresql17/postgres", "", "/usr/bin /usr/libexec/postgresql17"},
		{"Homebrew on Intel", brew("/usr/local"), "/usr/local/bin/mariadbd /usr/local/Cellar/mariadb/12.0.2/bin/mariadb-install-db", "/usr/local/opt/postgresql@17/bin"},
		{"Homebrew on ARM", brew("/opt/homebrew"), "/opt/homebrew/bin/mariadbd /opt/homebrew/Cellar/mariadb/12.0.2/bin/mariadb-install-db", "/opt/homebrew/opt/postgresql@17/bin"},
		{"Homebrew with MySQL", "/opt/homebrew/Cellar/mysql/9.4.0/bin/mysqld mysql, /opt/homebrew/bin/mysqld -> ../Cellar/mysql/9.4.0/bin/mysqld", "/opt/homebrew/bin/mysqld ", ""},
		{"Homebrew with both", brew("/opt/homebrew") + ", /opt/homebrew/opt/mysql/bin/mysqld mysql", "/opt/homebrew/bin/mariadbd /opt/homebrew/Cellar/mariadb/12.0.2/bin/mariadb-install-db", "/opt/homebrew/opt/postgresql@17/bin"},
		{"initdb of another version in PATH", "/usr/bin/initdb 14.19, /usr/bin/postgres 16.9," + bin("/usr/lib/postgresql/16/bin", "16.9"), "", "/usr/bin /usr/lib/postgresql/16/bin"},
		{"half a Postgres", "/usr/bin/postgres 16.9, /usr/bin/initdb 15.14", "", ""},
	} {
		plant(t, tc.files)
		want := strings.Fields(tc.postgres)
		for _, path := range []string{"", "/usr/bin:/bin", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "/opt/homebrew/bin:/usr/local/bin:/usr/bin:/bin"} {
			if path != "" {
				path = root + strings.ReplaceAll(path, ":", ":"+root)
			}
			t.Setenv("PATH", path)
			server, installer, ok := mysqlPrograms()
			if got := strings.ReplaceAll(server+" "+installer, root, ""); ok != (tc.mysql != "") || ok && got != tc.mysql {
				t.Errorf("%s, PATH=%s: found %q, want %q", tc.system, path, got, tc.mysql)
			}
			initdb, server, ok := postgresPrograms()
			dirs := slices.Compact([]string{strings.TrimPrefix(filepath.Dir(server), root), strings.TrimPrefix(filepath.Dir(initdb), root)})
			if ok != (len(want) > 0) || ok && !slices.Equal(dirs, want) {
				t.Errorf("%s, PATH=%s: found Postgres in %q, want %q", tc.system, path, dirs, want)
			}
		}
	}

	plant(t, "/usr/sbin/redis-server other, /usr/sbin/ip other, /usr/local/bin/etcd other, /usr/bin/java -> ../lib/nothing")
	t.Setenv("PATH", filepath.Join(root, "usr/bin"))
	for name, want := range map[string]string{"redis-server": "/usr/sbin/redis-server", "ip": "/usr/sbin/ip", "etcd": "/usr/local/bin/etcd", "java": "", "haproxy": ""} {
		if got := strings.ReplaceAll(strings.Join(candidates(name), " "), root, ""); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
