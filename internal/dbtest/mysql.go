package dbtest

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	mysqldriver "github.com/go-sql-driver/mysql" // registers the driver "mysql"
)

const mysqlAccount = "mysql"

var mysql = engine{
	name:    "mysql",
	driver:  "mysql",
	env:     "SNOWKEY_TEST_MYSQL",
	form:    "tcp(",
	example: "user:password@tcp(127.0.0.1:3306)/",
	needs:   "mariadbd and mariadb-install-db, or mysqld",
	pack:    "default-mysql-server-core default-mysql-client",
	account: mysqlAccount,
	quit:    "KILL",

	private: "root@tcp(127.0.0.1)/",

	versionSQL: "SELECT VERSION()",
	dataSQL:    "SELECT @@datadir",
	createSQL:  "CREATE DATABASE %s CHARACTER SET utf8mb4",
	dropSQL:    "DROP DATABASE %s",

	find: func() (installation, bool) {
		server, installer, ok := mysqlPrograms()
		return mysqlInstallation([]string{server}, installer), ok
	},
	versions: []string{"mysql9", "mariadb11"},
	fetch:    fetchMySQL,
	serve: func(program, data string, port int, durable bool) []string {
		dir := filepath.Dir(data)
		args := append(dataOptions(program, data), "--tmpdir="+dir, "--secure-file-priv="+dir,
			"--bind-address=127.0.0.1", "--port="+strconv.Itoa(port),
			"--socket="+filepath.Join(dir, "sock"), "--pid-file="+filepath.Join(dir, "pid"),
			"--loose-mysqlx=OFF", // MySQL opens a second port by default
			"--skip-log-bin", "--max-connections=1000",
			"--innodb-buffer-pool-size=64M",
			"--innodb-use-native-aio=OFF") // native AIO is limited in containers
		if !durable {
			args = append(args, "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=OFF", "--loose-sync-frm=OFF")
		}
		return args
	},
	change:    changeMySQLDSN,
	addressOf: func(dsn string) string { return parseMySQLDSN(dsn).Addr },
}

// mysqlPrograms returns the path of a server, and that of the program that makes a data
// directory, which MySQL does itself. It prefers MariaDB. The names say nothing: Debian
// calls MariaDB mysqld, too.
func mysqlPrograms() (server, installer string, ok bool) {
	for _, server := range candidates("mariadbd", "mysqld") {
		_, version, ok := strings.Cut(versionOf(server, "--version"), " Ver ")
		if ok && !strings.Contains(version, "MariaDB") {
			return server, "", true
		}
		if installers := beside(server, "mariadb-install-db", "mysql_install_db"); ok && len(installers) > 0 {
			return server, installers[0], true
		}
	}
	return "", "", false
}

// bootstrap does what mariadb-install-db does, which can't run the programs of another
// suite. It gets the data directory, the folder of the SQL, and the command to feed it to.
const bootstrap = `mkdir -p "$0" && cd "$1" && shift &&
{ printf '%s;\n' "CREATE DATABASE mysql" "USE mysql" "SET @auth_root_socket = NULL" "SET @skip_auth_anonymous = 1"
  cat mariadb_system_tables.sql mariadb_performance_tables.sql mariadb_system_tables_data.sql maria_add_gis_sp_bootstrap.sql mariadb_sys_schema.sql
} | "$@"`

// mysqlInstallation gets the command that runs mysqld, whose last word is its path, and the
// program that makes a data directory, which is the script bootstrap, or "" for mysqld.
func mysqlInstallation(mysqld []string, installer string) installation {
	program := mysqld[len(mysqld)-1]
	return installation{mysqld, func(data string) []string {
		return initialiseOnce(program, data, func(data string) []string {
			options := dataOptions(program, data)
			switch installer {
			case "":
				return slices.Concat(mysqld, options, []string{"--initialize-insecure"})
			case bootstrap:
				files := filepath.Join(filepath.Dir(filepath.Dir(program)), "share/mariadb")
				return slices.Concat([]string{"sh", "-c", bootstrap, data, files}, mysqld, options, []string{"--bootstrap", "--silent-startup"})
			}
			return slices.Concat([]string{installer}, options, []string{"--auth-root-authentication-method=normal", "--skip-test-db"})
		})
	}}
}

// fetchMySQL fetches a server of another suite of Debian.
func fetchMySQL(version string) (in installation, err error) {
	suite, packages, program, installer := "unstable", "mysql-server-core", "usr/sbin/mysqld", ""
	if version == "mariadb11" {
		suite, packages, program, installer = "trixie", "mariadb-server-core", "usr/sbin/mariadbd", bootstrap
	}
	mysqld, err := ofSuite(suite, packages, program)
	if err != nil {
		return in, err
	}
	return mysqlInstallation(mysqld, installer), nil
}

// initialiseOnce returns a command that does what initialise does. Since that can take
// seconds, the command does it in the cache, and copies the data directory from there. It
// doesn't keep auto.cnf, which MySQL makes when it starts, so each server gets its own
// server_uuid. The server's account owns the copies.
func initialiseOnce(mysqld, data string, initialise func(data string) []string) []string {
	cache, err := cacheDir()
	dir := filepath.Join(cache, "initialised-mysql")
	info, err2 := os.Stat(mysqld)
	if cmp.Or(err, err2) != nil || os.MkdirAll(dir, 0o755) != nil || giveTo(mysqlAccount, dir) != nil {
		return initialise(data)
	}
	account, _ := user.Lookup(mysqlAccount) // a package that creates it can be installed later
	key := fnv.New64a()
	fmt.Fprintln(key, account, initialise(""), mysqld, info.Size(), info.ModTime())
	kept := filepath.Join(dir, fmt.Sprintf("%x", key.Sum64()))
	part := kept + "." + rand.Text()
	// If another server is the first to keep its directory, mv -T fails, and this one is of no use.
	script := `[ -d "$0" ] || { ` + Quote(initialise(part)) + ` && rm -f "$1/auto.cnf" && mv -T "$1" "$0" || rm -rf "$1"; }; cp -R "$0" "$2"`
	return []string{"sh", "-c", script, kept, part, data}
}

// dataOptions returns the first options of a program. A fetched one looks for the other
// files of its package in /usr unless it is told where they are.
func dataOptions(program, data string) []string {
	options := []string{"--no-defaults", "--datadir=" + data}
	if cache, err := cacheDir(); err == nil && strings.HasPrefix(program, cache+string(filepath.Separator)) {
		options = append(options, "--basedir="+filepath.Dir(filepath.Dir(program)))
	}
	return options
}

func parseMySQLDSN(dsn string) *mysqldriver.Config {
	cfg, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		panic(fmt.Sprint("dbtest: ", err)) // which has no part of the DSN
	}
	return cfg
}

// changeMySQLDSN also sets ParseTime, because all users of this package expect a time.Time.
func changeMySQLDSN(dsn, database, address string) string {
	cfg := parseMySQLDSN(dsn)
	cfg.ParseTime = true
	cfg.DBName, cfg.Addr = cmp.Or(database, cfg.DBName), cmp.Or(address, cfg.Addr)
	return cfg.FormatDSN()
}
