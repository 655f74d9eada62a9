package autoinc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Dialect is a kind of database server.
type Dialect string

const (
	Postgres Dialect = "postgres"
	MySQL    Dialect = "mysql"
	MariaDB  Dialect = "mariadb"
	SQLite   Dialect = "sqlite"
)

// A DialectError says that a server is of a kind or version that this package
// does not know.
type DialectError struct {
	Dialect Dialect // what was asked for; empty if nothing was
	Version string  // what the server says of itself; empty if it does not say
}

func (e *DialectError) Error() string {
	const known = "PostgreSQL 12, MySQL 8.0, MariaDB 10.6 and SQLite 3.37 and later are known"
	switch {
	case e.Version == "" && e.Dialect == "":
		return "autoinc: the server does not say what it is; " + known
	case e.Version == "":
		return fmt.Sprintf("autoinc: the server is no %q; %s", e.Dialect, known)
	case e.Dialect == "":
		return fmt.Sprintf("autoinc: the server says that it is %q; %s", e.Version, known)
	default:
		return fmt.Sprintf("autoinc: the server says that it is %q, and %q was asked for; %s", e.Version, e.Dialect, known)
	}
}

// A server is what is asked and how.
type server struct {
	dialect Dialect
	version string
}

// Identify asks the server of db what it is. Errors are [*DialectError], or wrap
// the driver's.
func Identify(ctx context.Context, db *sql.DB) (Dialect, error) {
	if db == nil {
		return "", errors.New("autoinc: there is no database; pass an open *sql.DB")
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return "", fmt.Errorf("autoinc: %w", err)
	}
	defer conn.Close()
	s, err := identify(ctx, conn, "")
	return s.dialect, err
}

// identify asks a server what it is.
func identify(ctx context.Context, conn *sql.Conn, want Dialect) (server, error) {
	queries := []string{"SELECT version()", "SELECT sqlite_version()"}
	switch want {
	case "":
	case Postgres, MySQL, MariaDB:
		queries = queries[:1]
	case SQLite:
		queries = queries[1:]
	default:
		return server{}, &DialectError{Dialect: want}
	}
	var failed error
	for _, query := range queries {
		banner, err := one(ctx, conn, query, text)
		if ctx.Err() != nil {
			return server{}, fmt.Errorf("autoinc: %w", ctx.Err())
		}
		if err != nil {
			failed = errors.Join(failed, err) // a function that this kind of server does not have, or worse
			continue
		}
		s, known := parseBanner(banner, strings.Contains(query, "sqlite"))
		asked := want == "" || want == s.dialect || want == MySQL && s.dialect == MariaDB
		if !known || !asked {
			return server{}, &DialectError{Dialect: want, Version: banner}
		}
		return s, nil
	}
	return server{}, fmt.Errorf("%w (%w)", &DialectError{Dialect: want}, failed)
}

// parseBanner reads what a server says of itself: "PostgreSQL 15.18 (Debian …",
// "9.7.4", "10.11.19-MariaDB-0+deb12u1", "3.54.1". Servers that only speak like
// another are not known.
func parseBanner(banner string, sqlite bool) (s server, known bool) {
	var oldest int
	rest, postgres := strings.CutPrefix(banner, "PostgreSQL ")
	switch {
	case sqlite:
		s.dialect, oldest = SQLite, 3_037
	case postgres:
		s.dialect, oldest = Postgres, 12_000
	case strings.Contains(banner, "MariaDB"):
		s.dialect, oldest = MariaDB, 10_006
	default:
		s.dialect, oldest = MySQL, 8_000
	}
	for _, other := range []string{"-YB-", "TiDB", "Vitess", "Cockroach", "Redshift", "Greenplum", "SingleStore"} {
		if strings.Contains(banner, other) {
			return s, false
		}
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(rest)
	}
	s.version = rest[:end]
	major, minor, _ := strings.Cut(s.version, ".")
	minor, _, _ = strings.Cut(minor, ".")
	high, err := strconv.Atoi(major)
	low, _ := strconv.Atoi(minor) // "18beta1" has none
	return s, err == nil && high*1_000+low >= oldest
}

// quote encloses a name as the server does.
func (s server) quote(name string) string {
	mark := `"`
	if s.dialect == MySQL || s.dialect == MariaDB {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

func (s server) name(n Name) string { return s.quote(n.Schema) + "." + s.quote(n.Name) }

func (s server) column(c Column) string { return s.name(c.Table) + "." + s.quote(c.Name) }

// read returns the catalog; wanted are the schemas that were asked for.
func (s server) read(ctx context.Context, conn *sql.Conn, wanted []string) (*catalog, error) {
	switch s.dialect {
	case Postgres:
		return s.readPostgres(ctx, conn)
	case SQLite:
		return s.readSQLite(ctx, conn)
	default:
		return s.readMySQL(ctx, conn, wanted)
	}
}
