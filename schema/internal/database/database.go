// Package database has what schema/catalog and schema/autoinc share: the detection of servers, and helpers that read the rows of a catalog.
package database

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	_ "embed" // for the query
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

// A Dialect is a kind of database server.
type Dialect = sqldialect.Dialect

const (
	Postgres = sqldialect.Postgres
	MySQL    = sqldialect.MySQL
	MariaDB  = sqldialect.MariaDB
	SQLite   = sqldialect.SQLite
)

// servers has what Identify and ScanType need for each dialect.
var servers = map[Dialect]struct {
	shape  func(ddl.Type) ddl.Shape
	banner string // the query for the version
	oldest int    // the first supported version: major*1000 + minor
}{
	Postgres: {ddl.PostgresShape, "SELECT version()", 12_000},
	MySQL:    {ddl.MySQLShape, "SELECT version()", 8_000},
	MariaDB:  {ddl.MySQLShape, "SELECT version()", 10_006},
	SQLite:   {ddl.SQLiteShape, "SELECT sqlite_version()", 3_037},
}

// ErrDialect is returned for a server whose kind or version isn't supported.
var ErrDialect = errors.New("this database server is not supported; use PostgreSQL 12, MySQL 8.0, MariaDB 10.6, SQLite 3.37 or later")

// A Server describes a server by its kind and version.
type Server struct {
	Dialect
	Version string
}

// Identify queries the kind and version of a server. Its errors wrap [ErrDialect] or
// the driver's error.
func Identify(ctx context.Context, conn *sql.Conn, want Dialect) (Server, error) {
	queries := []string{servers[Postgres].banner, servers[SQLite].banner}
	if want != "" {
		wanted, known := servers[want]
		if !known {
			return Server{}, fmt.Errorf("schema: there is no dialect %q: %w", want, ErrDialect)
		}
		queries = []string{wanted.banner}
	}
	var failed error
	for _, query := range queries {
		banner, err := One(ctx, conn, query, Text)
		if ctx.Err() != nil {
			return Server{}, fmt.Errorf("schema: %w", ctx.Err())
		}
		if err != nil {
			failed = errors.Join(failed, err) // usually because this kind of server doesn't have the function
			continue
		}
		if name := compatible(banner); name != "" {
			return Server{}, fmt.Errorf("schema: the server is %s (%q), whose catalogs and ALTER TABLE differ from those of the database that it imitates; leases and keys don't need them: %w", name, banner, ErrDialect)
		}
		s, known := parseBanner(banner, query == servers[SQLite].banner)
		asked := want == "" || want == s.Dialect || want == MySQL && s.Dialect == MariaDB
		switch {
		case !known:
			return Server{}, fmt.Errorf("schema: the server calls itself %q: %w", banner, ErrDialect)
		case !asked:
			return Server{}, fmt.Errorf("schema: the server calls itself %q, and the dialect %q was requested: %w", banner, want, ErrDialect)
		}
		return s, nil
	}
	return Server{}, fmt.Errorf("schema: the server returns no version like that of %s: %w (%w)", cmp.Or(want, "any dialect"), ErrDialect, failed)
}

// compatible returns the name of a server that only speaks the protocol of another one,
// or "". We don't support these here, because what Snowkey does with a table depends on
// the server that runs it.
func compatible(banner string) string {
	for _, other := range [][2]string{
		{"TiDB", "TiDB"}, {"-YB-", "YugabyteDB"}, {"CockroachDB", "CockroachDB"}, {"Vitess", "Vitess"}, {"OceanBase", "OceanBase"},
		{"SingleStore", "SingleStore"}, {"Redshift", "Amazon Redshift"}, {"Greenplum", "Greenplum"}, {"CrateDB", "CrateDB"},
	} {
		if strings.Contains(banner, other[0]) {
			return other[1]
		}
	}
	return ""
}

// parseBanner parses the version that a server reports, such as "PostgreSQL 15.18
// (Debian …", "9.7.4", "10.11.19-MariaDB-0+deb12u1" or "3.54.1".
func parseBanner(banner string, sqlite bool) (s Server, known bool) {
	rest, postgres := strings.CutPrefix(banner, "PostgreSQL ")
	switch {
	case sqlite:
		s.Dialect = SQLite
	case postgres:
		s.Dialect = Postgres
	case strings.Contains(banner, "MariaDB"):
		s.Dialect = MariaDB
	default:
		s.Dialect = MySQL
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(rest)
	}
	s.Version = rest[:end]
	major, minor, _ := strings.Cut(s.Version, ".")
	minor, _, _ = strings.Cut(minor, ".")
	high, err := strconv.Atoi(major)
	low, _ := strconv.Atoi(minor) // "18beta1" has no minor version
	return s, err == nil && high*1_000+low >= servers[s.Dialect].oldest
}

// ScanType returns a Scanner that takes the name of a column type, and stores what such
// a column can hold.
func ScanType(d Dialect, bits *int, unsigned, text *bool) sql.Scanner {
	return typeScanner(func(name string) {
		holds := servers[d].shape(ddl.ParseType(name))
		*bits, *unsigned, *text = holds.Bits, holds.Unsigned, holds.Text
	})
}

type typeScanner func(name string)

// Scan implements sql.Scanner.
func (store typeScanner) Scan(source any) error {
	var name sql.NullString
	if err := name.Scan(source); err != nil {
		return err
	}
	store(name.String)
	return nil
}

// These are the prefixes of the triggers that reject keys which aren't generated.
const (
	FencePrefix = "snowkey_fence"
	GuardPrefix = "snowkey_guard"
)

// Own returns a name for an object that we create for a table. The name is short enough
// for every server.
func Own(prefix, table string) string {
	const most = 63
	name := prefix + "_" + table
	if len(name) <= most {
		return name
	}
	sum := fmt.Sprintf("_%x", sha256.Sum256([]byte(table)))[:9]
	cut := most - len(sum)
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + sum
}

// BeyondCounting is a number that auto-increment can't be expected to reach.
const BeyondCounting = 1_000_000_000_000

// MySQLSystem lists the system databases of MySQL and MariaDB.
const MySQLSystem = `('mysql', 'information_schema', 'performance_schema', 'sys', 'ndbinfo')`

// PostgresUses is a query for the views and other objects that use columns.
//
//go:embed postgres_uses.sql
var PostgresUses string

// A Querier is a *sql.Conn or a *sql.Tx.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// List returns the rows of a query. dest returns the destinations for the columns of a
// row, as in [sql.Rows.Scan].
func List[T any](ctx context.Context, q Querier, query string, dest func(*T) []any, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("schema: reading the catalog: %w", err)
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		var t T
		if err := rows.Scan(dest(&t)...); err != nil {
			return nil, fmt.Errorf("schema: reading the catalog: %w", err)
		}
		list = append(list, t)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("schema: reading the catalog: %w", err)
	}
	return list, nil
}

// One returns the row of a query that must return exactly one.
func One[T any](ctx context.Context, q Querier, query string, dest func(*T) []any, args ...any) (T, error) {
	rows, err := List(ctx, q, query, dest, args...)
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("schema: reading the catalog: %d rows instead of one; try again, the database was changed meanwhile", len(rows))
	}
	if err != nil {
		return *new(T), err
	}
	return rows[0], nil
}

// Text is a dest for [List] that scans a single text column.
func Text(s *string) []any { return []any{s} }

// Number is a dest for [List] that scans a single integer column.
func Number(n *int64) []any { return []any{n} }

// Printable escapes characters that don't print, line endings included, so that a name
// can't move the cursor of a terminal.
func Printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// Plural returns a number with its noun, in the plural unless n is 1.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Sleep waits for d, or returns an error if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
