package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
)

var postgres = engine{
	name:    "postgres",
	driver:  "pgx",
	env:     "SNOWKEY_TEST_POSTGRES",
	example: "postgres://user:password@127.0.0.1:5432/postgres",
	needs:   "initdb and postgres",
	pack:    "postgresql",
	account: "postgres",
	compose: "postgres://postgres:snowkey@127.0.0.1:54329/postgres",

	find: func() (installation, bool) {
		initdb, server, ok := postgresPrograms()
		return postgresInstallation(initdb, server), ok
	},
	versions: map[string]version{
		"14": embeddedPostgres("14.23.0-beta.17"),
		"15": embeddedPostgres("15.18.0-beta.17"),
		"16": embeddedPostgres("16.14.0-beta.17"),
		"17": embeddedPostgres("17.10.0-beta.17"),
		"18": embeddedPostgres("18.4.0-beta.17"),
	},
	describe: func(ctx context.Context, db *sql.DB) (string, bool, error) {
		var version string
		err := db.QueryRowContext(ctx, "SHOW server_version").Scan(&version)
		return "postgres " + number(version), false, err
	},
	withDatabase: postgresDSN,
	addressOf: func(dsn string) (network, address string, err error) {
		cfg, err := pgconn.ParseConfig(dsn)
		if err != nil {
			return "", "", errBadPostgresDSN
		}
		network, address = pgconn.NetworkAddress(cfg.Host, cfg.Port)
		return network, address, nil
	},
	withAddress: func(dsn, address string) (string, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return "", err
		}
		return changePostgresDSN(dsn, "host="+host+" port="+port, func(u *url.URL) { u.Host = address })
	},
	// We can't use template1, which can't be copied while anyone is connected to it.
	createSQL: func(version, database string) string {
		statement := "CREATE DATABASE " + database + " TEMPLATE template0 ENCODING 'UTF8'"
		if majorOf(version) >= 15 {
			statement += " STRATEGY file_copy" // the default writes the whole template to the WAL, which takes six times as long
		}
		return statement
	},
	dropSQL: func(database string) string {
		return "DROP DATABASE " + database + " WITH (FORCE)"
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
	return installation{
		initialise: func(data string) []string {
			return []string{initdb, "--pgdata=" + data, "--username=postgres", "--auth=trust",
				"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"}
		},
		serve: func(_, data string, port int, durable bool) []string {
			args := []string{postgres, "-D", data,
				"-c", "listen_addresses=127.0.0.1", "-c", "port=" + strconv.Itoa(port),
				"-c", "unix_socket_directories=", // TCP only, because a temporary directory may be too long for the path of a socket
				"-c", "max_connections=300", "-c", "shared_buffers=32MB",
				"-c", "jit=off"} // needs LLVM, which is so large that we don't fetch it
			if !durable {
				args = append(args, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
			}
			return args
		},
		setting: func(variable string) []string { return []string{"-c", variable} },
		dsn:     func(port int) string { return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", port) },
		dataSQL: "SHOW data_directory",
		quit:    "QUIT", // if killed, the postmaster would leave its shared memory behind
	}
}

// majorOf returns the major version of a [DB.Version] of Postgres, or 0 for other servers.
func majorOf(version string) int {
	var major int
	if n, err := fmt.Sscanf(version, "postgres %d", &major); n != 1 || err != nil {
		return 0
	}
	return major
}

func postgresDSN(dsn, database string) (string, error) {
	return changePostgresDSN(dsn, "dbname="+database, func(u *url.URL) { u.Path = "/" + database })
}

var errBadPostgresDSN = errors.New("the Postgres DSN is not a URL; write special characters of the password as %XX")

// changePostgresDSN handles both forms of a connection string. Its errors never contain
// any part of the DSN, because that part might be the password.
func changePostgresDSN(dsn, keywords string, change func(*url.URL)) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " " + keywords, nil // a DSN of the form keyword=value, where the last one wins
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errBadPostgresDSN
	}
	change(u)
	return u.String(), nil
}
