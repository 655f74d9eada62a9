package dbtest

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"os"
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
	example: "user:password@tcp(127.0.0.1:3306)/",
	needs:   "mariadbd and mariadb-install-db, or mysqld",
	pack:    "default-mysql-server-core default-mysql-client",
	account: mysqlAccount,
	quit:    "KILL",

	private: "root@tcp(127.0.0.1)/",
	compose: "root:snowkey@tcp(127.0.0.1:33069)/",

	versionSQL: "SELECT VERSION()",
	dataSQL:    "SELECT @@datadir",
	createSQL:  "CREATE DATABASE %s CHARACTER SET utf8mb4",
	dropSQL:    "DROP DATABASE %s",

	find: func() (installation, bool) {
		server, installer, ok := mysqlPrograms()
		initialise := initialiseMySQL
		if installer != "" {
			initialise = initialiseWith(installer)
		}
		return mysqlInstallation([]string{server}, initialise), ok
	},
	versions: []string{"mysql9", "mariadb11"},
	fetch:    fetchMySQL,
	serve: func(program, data string, port int, durable bool) []string {
		dir := filepath.Dir(data)
		args := slices.Concat([]string{"--no-defaults"}, unpackedBase(program), []string{"--datadir=" + data, "--tmpdir=" + dir, "--secure-file-priv=" + dir,
			"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port),
			"--socket=" + filepath.Join(dir, "sock"), "--pid-file=" + filepath.Join(dir, "pid"),
			"--loose-mysqlx=OFF", // MySQL opens a second port by default
			"--skip-log-bin", "--max-connections=1000",
			"--innodb-buffer-pool-size=64M",
			"--innodb-use-native-aio=OFF", // native AIO is limited in containers
		})
		if !durable {
			args = append(args, "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=OFF", "--loose-sync-frm=OFF")
		}
		return args
	},
	change: changeMySQLDSN,
	addressOf: func(dsn string) (network, address string) {
		cfg := parseMySQLDSN(dsn)
		return cfg.Net, cfg.Addr
	},
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

// mysqlInstallation gets the command that runs mysqld, whose last word is its path.
func mysqlInstallation(mysqld []string, initialise initialiser) installation {
	program := mysqld[len(mysqld)-1]
	return installation{mysqld, func(data string) []string {
		return initialiseOnce(program, data, func(data string) []string { return initialise(mysqld, unpackedBase(program), data) })
	}}
}

// fetchMySQL fetches a server of another suite of Debian.
func fetchMySQL(version string) (in installation, err error) {
	suite, packages, program, initialise := "unstable", "mysql-server-core", "usr/sbin/mysqld", initialiseMySQL
	if version == "mariadb11" {
		suite, packages, program, initialise = "trixie", "mariadb-server-core", "usr/sbin/mariadbd", bootstrap
	}
	mysqld, err := ofSuite(suite, packages, program)
	if err != nil {
		return in, err
	}
	return mysqlInstallation(mysqld, initialise), nil
}

// An initialiser returns a command that makes a data directory. basedir is an option for
// mysqld, or nothing.
type initialiser func(mysqld, basedir []string, data string) []string

func initialiseMySQL(mysqld, basedir []string, data string) []string {
	return slices.Concat(mysqld, []string{"--no-defaults"}, basedir, []string{"--initialize-insecure", "--datadir=" + data})
}

// initialiseWith runs mariadb-install-db.
func initialiseWith(installDB string) initialiser {
	return func(_, basedir []string, data string) []string {
		return slices.Concat([]string{installDB, "--no-defaults"}, basedir, []string{"--datadir=" + data,
			"--auth-root-authentication-method=normal", "--skip-test-db"})
	}
}

// bootstrap does what mariadb-install-db does, which can't run the programs of another
// suite.
func bootstrap(mariadbd, basedir []string, data string) []string {
	program := mariadbd[len(mariadbd)-1]
	files := filepath.Join(filepath.Dir(filepath.Dir(program)), "share/mariadb")
	script := `mkdir -p "$1" && cd "$2" && shift 2 &&
{ printf '%s;\n' "CREATE DATABASE mysql" "USE mysql" "SET @auth_root_socket = NULL" "SET @skip_auth_anonymous = 1"
  cat mariadb_system_tables.sql mariadb_performance_tables.sql mariadb_system_tables_data.sql maria_add_gis_sp_bootstrap.sql mariadb_sys_schema.sql
} | "$@"`
	return slices.Concat([]string{"sh", "-c", script, "bootstrap", data, files}, mariadbd,
		[]string{"--no-defaults"}, basedir, []string{"--datadir=" + data, "--bootstrap", "--silent-startup"})
}

// initialiseOnce returns a command that does what initialise does. Since that can take
// seconds, the command keeps a copy of the new data directory in the cache, and uses the
// copy from then on. It doesn't keep auto.cnf, which MySQL makes when it starts, so each
// server gets its own server_uuid. The server's account owns the copies.
func initialiseOnce(mysqld, data string, initialise func(data string) []string) []string {
	cache, err := cacheDir()
	dir := filepath.Join(cache, "initialised-mysql")
	info, err2 := os.Stat(mysqld)
	if cmp.Or(err, err2) != nil || os.MkdirAll(dir, 0o755) != nil || giveTo(mysqlAccount, dir) != nil {
		return initialise(data)
	}
	key := fnv.New64a()
	fmt.Fprintln(key, initialise(""), mysqld, info.Size(), info.ModTime())
	kept := filepath.Join(dir, fmt.Sprintf("%x", key.Sum64()))
	if _, err := os.Stat(kept); err == nil {
		return []string{"cp", "-R", kept, data}
	}
	// If another server keeps its copy first, mv -T fails, and this copy is of no use.
	script := Quote(initialise(data)) + ` && { cp -R "$2" "$1.$$" && rm -f "$1.$$/auto.cnf" && mv -T "$1.$$" "$1" || rm -rf "$1.$$"; }`
	return []string{"sh", "-c", script, "initialise", kept, data}
}

// unpackedBase returns the option that tells a fetched program where to find the other
// files of its package, which it would look for in /usr. Returns nil for an installed program, which doesn't need it.
func unpackedBase(program string) []string {
	cache, err := cacheDir()
	if err != nil || !strings.HasPrefix(program, cache+string(filepath.Separator)) {
		return nil
	}
	return []string{"--basedir=" + filepath.Dir(filepath.Dir(program))}
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
	if database != "" {
		cfg.DBName = database
	}
	if address != "" {
		cfg.Net, cfg.Addr = "tcp", address
	}
	return cfg.FormatDSN()
}
