package main

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "github.com/glebarez/go-sqlite" // registers the driver "sqlite"
	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/spf13/cobra"
)

// A source tells us where to find the database. No part of a data source name may ever
// end up in an error. If the name is malformed, we can't tell which part is the password.
type source struct {
	dsn, file, dialect string
}

// register adds the flags by which users name the database.
func (s *source) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.dsn, "dsn", "", "the data source `name`: postgres://user:password@host:5432/shop, user:password@tcp(host:3306)/shop, or shop.db; by default that in the environment variable SNOWKEY_DSN")
	flags.StringVar(&s.file, "dsn-file", "", "a `file` whose first line is the data source name")
	flags.StringVar(&s.dialect, "dialect", "", "the `kind` of database: postgres, mysql or sqlite; by default what the data source name looks like")
	complete(cmd, "dialect", "postgres", "mysql", "sqlite")
}

var (
	errNoDSN       = errors.New("which database? Set SNOWKEY_DSN, or name a file with --dsn-file, or use --dsn")
	errDialect     = errors.New("--dialect is postgres, mysql or sqlite")
	errPostgresDSN = errors.New("the data source name is not one of Postgres; write postgres://user:password@host:5432/database, with special characters of the password as %XX")
	errSQLiteDSN   = errors.New("the data source name is not one of SQLite; write the path of a file that exists, or file:path")
)

// withDB calls f with the database, which it opens for reading.
func (a *app) withDB(f func(*sql.DB) error) error {
	db, _, err := a.openDB(a.getenv, false)
	if err != nil {
		return err
	}
	defer db.Close()
	return f(db)
}

// openDB opens the database, but doesn't connect yet. It also returns the database's
// dialect, which is postgres, mysql or sqlite. An SQLite file can only be written to if
// write is set.
func (s source) openDB(getenv func(string) string, write bool) (db *sql.DB, dialect string, err error) {
	dsn, err := s.read(getenv)
	if err != nil {
		return nil, "", err
	}
	if scheme, _, ok := strings.Cut(dsn, "://"); ok && slices.Contains(otherStores, scheme) {
		return nil, "", errors.New("this command reads databases and, with --dir, files; it has no client of etcd, Redis or ZooKeeper. Call snowkey.Doctor, snowkey.Fence or service.NewHandler in a program, as in docs/stores.md")
	}
	dialect = cmp.Or(s.dialect, guess(dsn))
	switch dialect {
	case "postgres":
		db, err = openPostgres(dsn)
	case "mysql", "mariadb":
		dialect = "mysql"
		db, err = openMySQL(dsn)
	case "sqlite":
		db, err = openSQLite(dsn, write)
	case "":
		err = errors.New("the data source name is not recognised; say --dialect postgres, mysql or sqlite")
	default:
		err = errDialect
	}
	return db, dialect, err
}

// otherStores are the schemes by which others name servers that may keep leases. Their
// clients would be most of the command, which would have to be released for each of theirs.
var otherStores = []string{"etcd", "redis", "rediss", "valkey", "valkeys", "zk", "zookeeper"}

func (s source) read(getenv func(string) string) (dsn string, err error) {
	switch {
	case s.dsn != "" && s.file != "":
		return "", errors.New("--dsn and --dsn-file exclude each other")
	case s.file != "":
		text, err := os.ReadFile(s.file)
		if err != nil {
			return "", fmt.Errorf("reading the data source name: %w", err)
		}
		dsn, _, _ = strings.Cut(string(text), "\n")
	default:
		dsn = cmp.Or(s.dsn, getenv("SNOWKEY_DSN"))
	}
	if dsn = strings.TrimSpace(dsn); dsn == "" {
		return "", errNoDSN
	}
	return dsn, nil
}

// guess guesses the dialect from the form of the data source name. Returns an empty
// string if it can't.
func guess(dsn string) string {
	switch {
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		return "postgres"
	case strings.HasPrefix(dsn, "file:"), isFile(dsn):
		return "sqlite"
	case strings.HasPrefix(dsn, "mysql://"), strings.HasPrefix(dsn, "mariadb://"), strings.Contains(dsn, "@tcp("), strings.Contains(dsn, "@unix("), strings.HasPrefix(dsn, "tcp("), strings.HasPrefix(dsn, "unix("):
		return "mysql"
	case strings.Contains(dsn, "host="), strings.Contains(dsn, "dbname="):
		return "postgres"
	case !strings.ContainsAny(dsn, "@=:"):
		return "sqlite" // a path where there is no file
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func openPostgres(dsn string) (*sql.DB, error) {
	if strings.Contains(dsn, "://") {
		// A # or ? in the password ends the host part of a URL, which means that part
		// of the password would be looked up as a host, and then be printed.
		u, err := url.Parse(dsn)
		if err != nil || u.Fragment != "" || u.User == nil && strings.Contains(dsn, "@") {
			return nil, errPostgresDSN
		}
	}
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errPostgresDSN
	}
	return stdlib.OpenDB(*cfg), nil
}

func openMySQL(dsn string) (*sql.DB, error) {
	db, err := sql.Open("mysql", dsn)
	if err != nil || strings.Contains(dsn, "://") {
		return nil, errors.New("the data source name is not one of MySQL; write user:password@tcp(host:3306)/database")
	}
	return db, nil
}

// openSQLite opens an existing file.
func openSQLite(dsn string, write bool) (*sql.DB, error) {
	uri, ok := strings.CutPrefix(dsn, "file:")
	if !ok {
		path, err := filepath.Abs(dsn)
		if err != nil || !isFile(path) {
			return nil, errors.New("there is no such file; write the path of a database of SQLite that exists, or postgres://user:password@host:5432/database, or user:password@tcp(host:3306)/database")
		}
		uri = (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	}
	path, query, _ := strings.Cut(uri, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errSQLiteDSN
	}
	if !values.Has("mode") {
		values.Set("mode", map[bool]string{false: "ro", true: "rw"}[write])
	}
	if !values.Has("_pragma") {
		values.Set("_pragma", "busy_timeout(5000)")
	}
	db, err := sql.Open("sqlite", "file:"+path+"?"+values.Encode())
	if err != nil {
		return nil, errSQLiteDSN
	}
	return db, nil
}
