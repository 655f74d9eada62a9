// Package database has what schema/catalog and schema/autoinc share: the detection of servers, and helpers that read the rows of a catalog.
package database

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

const mysqlGet, mysqlSet = "SELECT @@SESSION.%s", "SET SESSION %s = %s"

// servers has what differs between the dialects here.
var servers = map[sqldialect.Dialect]struct {
	shape    func(ddl.Type) ddl.Shape
	banner   string // the query for the version
	oldest   int    // the first supported version: major*1000 + minor
	get, set string // a query for a setting of the session, and a statement that changes it
}{
	sqldialect.Postgres: {ddl.PostgresShape, "SELECT version()", 12_000, "SELECT current_setting('%s')", "SELECT set_config('%s', %s, false)"},
	sqldialect.MySQL:    {ddl.MySQLShape, "SELECT version()", 8_000, mysqlGet, mysqlSet},
	sqldialect.MariaDB:  {ddl.MySQLShape, "SELECT version()", 10_006, mysqlGet, mysqlSet},
	sqldialect.SQLite:   {ddl.SQLiteShape, "SELECT sqlite_version()", 3_037, "PRAGMA %s", "PRAGMA %s = %s"},
}

// ErrDialect is returned for a server whose kind or version isn't supported.
var ErrDialect = errors.New("this database server is not supported; use PostgreSQL 12, MySQL 8.0, MariaDB 10.6, SQLite 3.37 or later")

// A Server describes a server by its kind and version.
type Server struct {
	sqldialect.Dialect
	Version string
}

// Identify queries the kind and version of a server. Its errors wrap [ErrDialect] or
// the driver's error.
func Identify(ctx context.Context, conn *sql.Conn) (Server, error) {
	var failed error
	for _, query := range []string{servers[sqldialect.Postgres].banner, servers[sqldialect.SQLite].banner} {
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
		s, known := parseBanner(banner, query == servers[sqldialect.SQLite].banner)
		if !known {
			return Server{}, fmt.Errorf("schema: the server calls itself %q: %w", banner, ErrDialect)
		}
		return s, nil
	}
	return Server{}, fmt.Errorf("schema: the server returns no version: %w (%w)", ErrDialect, failed)
}

// compatible returns the name of a server that only speaks the protocol of another one,
// or "". We don't support these here, because what Snowkey does with a table depends on
// the server that runs it.
func compatible(banner string) string {
	name := imitations.FindString(banner)
	return cmp.Or(map[string]string{"-YB-": "YugabyteDB", "Redshift": "Amazon Redshift"}[name], name)
}

var imitations = regexp.MustCompile("TiDB|-YB-|CockroachDB|Vitess|OceanBase|SingleStore|Redshift|Greenplum|CrateDB")

// parseBanner parses the version that a server reports, such as "PostgreSQL 15.18
// (Debian …", "9.7.4", "10.11.19-MariaDB-0+deb12u1" or "3.54.1".
func parseBanner(banner string, sqlite bool) (s Server, known bool) {
	rest, postgres := strings.CutPrefix(banner, "PostgreSQL ")
	switch {
	case sqlite:
		s.Dialect = sqldialect.SQLite
	case postgres:
		s.Dialect = sqldialect.Postgres
	case strings.Contains(banner, "MariaDB"):
		s.Dialect = sqldialect.MariaDB
	default:
		s.Dialect = sqldialect.MySQL
	}
	s.Version = regexp.MustCompile(`^[0-9.]*`).FindString(rest)
	return s, s.version() >= servers[s.Dialect].oldest
}

// version returns the version as major*1000 + minor, or 0 if it isn't known.
func (s Server) version() int {
	var major, minor int
	_, _ = fmt.Sscanf(s.Version, "%d.%d", &major, &minor) // "18beta1" has no minor version
	return major*1_000 + minor
}

// AtLeast reports whether the server has this version or a newer one.
func (s Server) AtLeast(major, minor int) bool { return s.version() >= major*1_000+minor }

// ScanType returns a Scanner that takes the name of a column type, and stores what such
// a column can hold.
func ScanType(d sqldialect.Dialect, bits *int, unsigned, text *bool) sql.Scanner {
	return textScanner(func(name string) {
		holds := servers[d].shape(ddl.ParseType(name))
		*bits, *unsigned, *text = holds.Bits, holds.Unsigned, holds.Text
	})
}

// ScanInt returns a Scanner that takes an integer of any size, and stores nil for NULL.
func ScanInt(to **big.Int) sql.Scanner {
	return textScanner(func(digits string) { *to, _ = new(big.Int).SetString(digits, 10) })
}

// ScanJSON returns a Scanner that takes a value as JSON.
func ScanJSON(to any) sql.Scanner {
	return textScanner(func(text string) { _ = json.Unmarshal([]byte(text), to) }) // made by the server
}

type textScanner func(text string)

// Scan implements sql.Scanner.
func (store textScanner) Scan(source any) error {
	var text sql.NullString
	if err := text.Scan(source); err != nil {
		return err
	}
	store(text.String)
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
	return strings.ToValidUTF8(name[:most-len(sum)], "") + sum // without the half of a character
}

// BeyondCounting is a number that auto-increment can't be expected to reach.
const BeyondCounting = 1_000_000_000_000

// Queries are those of this package.
//
//go:embed *.sql
var Queries embed.FS

// Query returns the query of this name in the server's file of queries, such as postgres.sql,
// see [sqldialect.Sections]. In a query, {system} stands for the system databases of MySQL.
func (s Server) Query(files embed.FS, name string) string {
	file := s.Dialect
	if file == sqldialect.MariaDB {
		file = sqldialect.MySQL
	}
	text, _ := files.ReadFile(string(file) + ".sql") // all of them are there
	return strings.ReplaceAll(sqldialect.Sections(string(text))[name], "{system}", "('mysql', 'information_schema', 'performance_schema', 'sys', 'ndbinfo')")
}

// Set changes settings of the session. Each is a name, and a value that is written as SQL.
// The function restore puts the values back that they had.
func (s Server) Set(ctx context.Context, conn *sql.Conn, settings ...[2]string) (restore func() error, err error) {
	var back []string
	restore = func() error {
		for _, statement := range slices.Backward(back) {
			if _, err := conn.ExecContext(context.WithoutCancel(ctx), statement); err != nil {
				return fmt.Errorf("schema: restoring the session: %w", err)
			}
		}
		return nil
	}
	for _, setting := range settings {
		was, err := One(ctx, conn, fmt.Sprintf(servers[s.Dialect].get, setting[0]), Text)
		if err == nil {
			_, err = conn.ExecContext(ctx, fmt.Sprintf(servers[s.Dialect].set, setting[0], setting[1]))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("schema: setting up the session: %w", err), restore())
		}
		if _, err := strconv.ParseFloat(was, 64); err != nil || s.Dialect == sqldialect.Postgres {
			was = s.Literal(was)
		}
		back = append(back, fmt.Sprintf(servers[s.Dialect].set, setting[0], was))
	}
	return restore, nil
}

// A Querier is a *sql.Conn or a *sql.Tx.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// List returns the rows of a query. dest returns the destinations for the columns of a
// row, as in [sql.Rows.Scan].
func List[T any](ctx context.Context, q Querier, query string, dest func(*T) []any, args ...any) (list []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err == nil {
		defer rows.Close()
		for err == nil && rows.Next() {
			var t T
			err = rows.Scan(dest(&t)...)
			list = append(list, t)
		}
		err = cmp.Or(err, rows.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("schema: reading the catalog: %w", err)
	}
	return list, nil
}

// Into adds the rows of a query to a list, see [List]. It does nothing if this kind of server
// doesn't have the query.
func Into[T any](ctx context.Context, q Querier, list *[]T, query string, dest func(*T) []any) error {
	if query == "" {
		return nil
	}
	rows, err := List(ctx, q, query, dest)
	*list = append(*list, rows...)
	return err
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

// Joined joins what f returns for each item of a list.
func Joined[T any](list []T, separator string, f func(i int, item T) string) string {
	var texts []string
	for i, item := range list {
		texts = append(texts, f(i, item))
	}
	return strings.Join(texts, separator)
}

// Grouped groups a list by a key.
func Grouped[K comparable, V any](list []V, key func(V) K) map[K][]V {
	groups := make(map[K][]V)
	for _, v := range list {
		groups[key(v)] = append(groups[key(v)], v)
	}
	return groups
}

// By returns a map of a list in which each key is there once.
func By[K comparable, V any](list []V, key func(V) K) map[K]V {
	all := make(map[K]V)
	for _, v := range list {
		all[key(v)] = v
	}
	return all
}

// Printable escapes characters that don't print, line endings included, so that a name
// can't move the cursor of a terminal.
func Printable(s string) string {
	quoted := strconv.Quote(s)
	return printing.Replace(quoted[1 : len(quoted)-1])
}

// printing takes the escapes off characters that print.
var printing = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

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
