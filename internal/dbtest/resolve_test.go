package dbtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestChoiceOfAWay(t *testing.T) {
	for _, tc := range []struct {
		name     string
		env      string
		programs string // found on this machine
		docker   bool
		debian   bool // packages can be unpacked
		root     bool // and the user has allowed us to install packages
		postgres way
		mysql    way
	}{
		{name: "nothing", postgres: none, mysql: none},
		{name: "all there is", env: "SNOWKEY_TEST_POSTGRES SNOWKEY_TEST_MYSQL", programs: "initdb postgres mysqld", docker: true, root: true,
			postgres: environment, mysql: environment},
		{name: "a variable for one", env: "SNOWKEY_TEST_POSTGRES", root: true, postgres: environment, mysql: install},
		{name: "programs before Docker", programs: "initdb postgres mariadbd mariadb-install-db", docker: true, root: true,
			postgres: private, mysql: private},
		{name: "old MariaDB", programs: "mysqld mysql_install_db", postgres: none, mysql: private},
		{name: "MySQL", programs: "mysqld", postgres: none, mysql: private},
		{name: "a version", env: "SNOWKEY_TEST_POSTGRES_VERSION SNOWKEY_TEST_MYSQL_VERSION", docker: true, root: true, postgres: private, mysql: private},
		{name: "a version and a variable", env: "SNOWKEY_TEST_POSTGRES SNOWKEY_TEST_POSTGRES_VERSION", postgres: environment, mysql: none},
		{name: "half an installation", programs: "postgres mariadbd", docker: true, postgres: containers, mysql: containers},
		{name: "Docker alone", docker: true, postgres: containers, mysql: containers},
		{name: "Debian", debian: true, docker: true, postgres: unpack, mysql: unpack},
		{name: "root who allows it", debian: true, root: true, docker: true, postgres: install, mysql: install},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := machine{
				getenv: func(name string) string {
					if slices.Contains(strings.Fields(tc.env), name) {
						return "some DSN"
					}
					return ""
				},
				find: func(_ []string, names ...string) ([]string, bool) {
					for _, name := range names {
						if !slices.Contains(strings.Fields(tc.programs), name) {
							return nil, false
						}
					}
					return names, true
				},
				mayInstall: func() bool { return tc.root },
				mayFetch:   func() bool { return tc.debian },
				docker:     func() bool { return tc.docker },
			}
			if got := m.choose(postgres); got != tc.postgres {
				t.Errorf("postgres comes from %q, want %q", got, tc.postgres)
			}
			if got := m.choose(mysql); got != tc.mysql {
				t.Errorf("mysql comes from %q, want %q", got, tc.mysql)
			}
		})
	}
}

func TestServerOfTheEnvironmentIsUsed(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			requireWanted(t, dialect)
			srv, err := sharedServer(dialect)
			if err != nil {
				t.Fatal(err)
			}
			replaceMachine(t, machine{getenv: os.Getenv}) // any other way would call a nil function
			t.Setenv(srv.env, srv.dsn)
			Open(t, dialect).Connect(t)
			if got := shared.servers[dialect]; got == nil || got.origin != srv.env || got.dsn != srv.dsn {
				t.Errorf("%s did not come from %s: %+v", dialect, srv.env, got)
			}
		})
	}
}

func TestNoPasswordIsPrinted(t *testing.T) {
	for name, dsns := range map[string][]string{
		"SNOWKEY_TEST_POSTGRES": {
			"postgres://me:hunter2@127.0.0.1:1/x",
			"postgres://me:hunter2%@127.0.0.1:1/x",
			"postgres://me:hunter2@127.0.0.1:port/x",
			"host=127.0.0.1 port=1 user=me password=hunter2",
			"host=127.0.0.1 port=1 user=me password='hunter2",
		},
		"SNOWKEY_TEST_MYSQL": {
			"me:hunter2@tcp(127.0.0.1:1)/x",
			"me:hunter2@tcp(127.0.0.1:1",
			"me:hunter2@nonet(127.0.0.1:1)/x",
		},
	} {
		for _, dsn := range dsns {
			t.Setenv(name, dsn)
			_, err := start(map[string]string{"SNOWKEY_TEST_POSTGRES": "postgres", "SNOWKEY_TEST_MYSQL": "mysql"}[name])
			switch {
			case err == nil:
				t.Errorf("%s=%s: no error", name, dsn)
			case strings.Contains(err.Error(), "hunter2"):
				t.Errorf("%s=%s: the error prints the password: %v", name, dsn, err)
			case !strings.Contains(err.Error(), name):
				t.Errorf("%s=%s: the error does not name the variable: %v", name, dsn, err)
			}
		}
	}
}

func TestDSNOfATestsDatabase(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://me:a%40b@db:5432/old?sslmode=disable": "postgres://me:a%40b@db:5432/new?sslmode=disable",
		"postgresql://db":                         "postgresql://db/new",
		"host=/run/postgresql user=me dbname=old": "host=/run/postgresql user=me dbname=old dbname=new",
	} {
		if got, err := postgresDSN(dsn, "new"); got != want || err != nil {
			t.Errorf("%s becomes %s (%v), want %s", dsn, got, err, want)
		}
	}
	for dsn, want := range map[string]string{
		"me:a@b:c@tcp(db:3306)/old?interpolateParams=true": "me:a@b:c@tcp(db:3306)/new?interpolateParams=true&parseTime=true",
		"root@unix(/run/mysqld.sock)/":                     "root@unix(/run/mysqld.sock)/new?parseTime=true",
	} {
		if got, err := mysqlDSN(dsn, "new"); got != want || err != nil {
			t.Errorf("%s becomes %s (%v), want %s", dsn, got, err, want)
		}
	}
}

func TestProgramsAreFoundOffThePath(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{"14/bin/initdb", "14/bin/postgres", "16/bin/initdb", "17/bin/initdb", "17/bin/postgres", "scripts/postgres"} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", "")
	look := func() string {
		paths, ok := findPrograms([]string{filepath.Join(root, "no*"), filepath.Join(root, "*/bin")}, "initdb", "postgres")
		if !ok {
			return "nothing"
		}
		return strings.ReplaceAll(strings.Join(paths, " "), root, "")
	}
	if got, want := look(), "/17/bin/initdb /17/bin/postgres"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	t.Setenv("PATH", filepath.Join(root, "14/bin"))
	if got, want := look(), "/14/bin/initdb /14/bin/postgres"; got != want {
		t.Errorf("found %s, want those of PATH, %s", got, want)
	}
	t.Setenv("PATH", filepath.Join(root, "scripts")+string(filepath.ListSeparator)+filepath.Join(root, "14/bin"))
	if got, want := look(), "/14/bin/initdb /14/bin/postgres"; got != want {
		t.Errorf("found %s, want both in one directory, %s", got, want)
	}
	if _, ok := findPrograms(nil, "initdb", "mysqld"); ok {
		t.Error("found mysqld where there is none")
	}
}

func TestDebianAndItsKinAreRecognised(t *testing.T) {
	for release, want := range map[string]bool{
		"NAME=x\nID=debian\n":                     true,
		"ID=ubuntu\nID_LIKE=debian\n":             true,
		"ID=linuxmint\nID_LIKE=\"ubuntu debian\"": true,
		"ID=alpine\nHOME=debian\n":                false,
		"ID=\"rhel\"\nBUG_URL=ubuntu":             false,
	} {
		if got := debianLike.MatchString(release); got != want {
			t.Errorf("%q: %v, want %v", release, got, want)
		}
	}
}
