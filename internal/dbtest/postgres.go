package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
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

	find: func(look finder) (installation, bool) {
		// Debian keeps the programs of each version in a folder off the PATH.
		paths, ok := look([]string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"}, "initdb", "postgres")
		if !ok {
			return installation{}, false
		}
		return postgresInstallation(paths[0], paths[1]), true
	},
	describe: func(ctx context.Context, db *sql.DB) (string, bool, error) {
		var version string
		err := db.QueryRowContext(ctx, "SHOW server_version").Scan(&version)
		return "postgres " + number(version), false, err
	},
	withDatabase: postgresDSN,
	// template1 refuses to be copied while anybody is connected to it.
	createSQL: func(database string) string {
		return "CREATE DATABASE " + database + " TEMPLATE template0 ENCODING 'UTF8'"
	},
	dropSQL: func(database string) string {
		return "DROP DATABASE " + database + " WITH (FORCE)"
	},
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
				"-c", "unix_socket_directories=", // TCP alone: the path of a socket may not be long
				"-c", "max_connections=300", "-c", "shared_buffers=32MB"}
			if !durable {
				args = append(args, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
			}
			return args
		},
		dsn:     func(port int) string { return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", port) },
		dataSQL: "SHOW data_directory",
		quit:    "QUIT", // a killed postmaster would leave its shared memory behind
	}
}

// postgresDSN handles both forms of a connection string. Its error holds no
// part of the DSN, which may be the password.
func postgresDSN(dsn, database string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + database, nil // keyword=value: the last one wins
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("the Postgres DSN is not a URL; write special characters of the password as %XX")
	}
	u.Path = "/" + database
	return u.String(), nil
}
