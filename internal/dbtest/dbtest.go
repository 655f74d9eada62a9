package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// TB is the part of testing.TB that this package needs. We don't import testing itself,
// because any program that imported dbtest would then get testing's flags.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
	TempDir() string
}

// A DB is an empty database that belongs to one test, and is dropped when the test
// ends.
type DB struct {
	Dialect string // "sqlite", "postgres" or "mysql" (MariaDB too)
	Driver  string // the name for sql.Open: "sqlite", "pgx" or "mysql"
	DSN     string // may contain a password, so don't print it
	Version string // for logs: "postgres 15.18", "mariadb 10.11.19", "sqlite 3.54.0"
	MariaDB bool   // whether a "mysql" is MariaDB
}

// With returns db with additional settings in its DSN, such as "a=1&b=2".
func (db DB) With(settings string) DB {
	between := "?"
	if strings.Contains(db.DSN, "?") {
		between = "&"
	}
	db.DSN += between + settings
	return db
}

// Since returns db, or skips the test if db is PostgreSQL of an earlier major version.
func (db DB) Since(t TB, major int) DB {
	t.Helper()
	if version := majorOf(db.Version); version > 0 && version < major {
		t.Skipf("needs PostgreSQL %d or later, and this is %s", major, db.Version)
	}
	return db
}

// At returns db with a DSN that connects to a TCP address instead, such as that of a
// proxy.
func (db DB) At(address string) DB {
	db.DSN = engineOf(db.Dialect).change(db.DSN, "", address)
	return db
}

// Connect opens db and checks that it answers. The connection is closed when the test
// ends.
func (db DB) Connect(t TB) *sql.DB {
	t.Helper()
	conn := Must(sql.Open(db.Driver, db.DSN))(t)
	t.Cleanup(func() { conn.Close() })
	NoError(t, conn.Ping())
	return conn
}

// session calls f with a new connection. It doesn't take the test's context, because it
// also cleans up after a test, when that context has already ended.
func (db DB) session(f func(context.Context, *sql.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	server, err := sql.Open(db.Driver, db.DSN)
	if err != nil {
		return err
	}
	defer server.Close()
	conn, err := server.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return f(ctx, conn)
}

// read reads a single value, using a new connection.
func (db DB) read(query string, value any) error {
	return db.session(func(ctx context.Context, conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, query).Scan(value)
	})
}

// services are the names of servers that speak no SQL.
var services = []string{"redis", "etcd", "zookeeper"}

// wanted returns the databases and services of this run, see SNOWKEY_TEST_DB.
func wanted() ([]string, error) {
	all := append([]string{"sqlite", "postgres", "mysql"}, services...)
	list := os.Getenv("SNOWKEY_TEST_DB")
	if list == "" {
		return all, nil
	}
	known := slices.Concat(all, postgres.versions, mysql.versions)
	names := strings.Split(strings.ReplaceAll(list, " ", ""), ",")
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("dbtest: SNOWKEY_TEST_DB=%s: %q is not a database; use a list of %s, or unset it to test those of this machine",
				list, name, strings.Join(known, ", "))
		}
	}
	return names, nil
}

// dialectOf returns the dialect of a name in SNOWKEY_TEST_DB, such as "mysql9". Other names
// stay as they are.
func dialectOf(name string) string {
	for _, e := range []engine{postgres, mysql} {
		if slices.Contains(e.versions, name) {
			return e.name
		}
	}
	return name
}

// Version returns the version of a dialect's server that SNOWKEY_TEST_DB has chosen, such
// as "mysql9", or an empty string.
func Version(dialect string) string {
	names, _ := wanted()
	for _, name := range names {
		if name != dialect && dialectOf(name) == dialect {
			return name
		}
	}
	return ""
}

// Databases returns the dialects that this run must cover: "sqlite", "postgres" and
// "mysql", unless SNOWKEY_TEST_DB contains a comma-separated list of some of them.
func Databases(t TB) (dialects []string) {
	t.Helper()
	names, err := wanted()
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, name := range names {
		if !slices.Contains(services, name) {
			dialects = append(dialects, dialectOf(name))
		}
	}
	return dialects
}

// Servers is like [Databases] without SQLite.
func Servers(t TB) []string {
	t.Helper()
	return slices.DeleteFunc(Databases(t), func(dialect string) bool { return dialect == "sqlite" })
}

// Wants reports whether this run must cover a dialect or a service, such as "redis".
func Wants(t TB, name string) bool {
	t.Helper()
	names, _ := wanted()
	return slices.Contains(Databases(t), name) || slices.Contains(names, name)
}

func requireWanted(t TB, name string) {
	t.Helper()
	if !Wants(t, name) {
		t.Skipf("dbtest: SNOWKEY_TEST_DB=%s leaves %s out", os.Getenv("SNOWKEY_TEST_DB"), name)
	}
}

// A runner is *testing.T or *testing.B.
type runner[T any] interface {
	TB
	Run(name string, f func(T)) bool
}

// Each runs a subtest for every database of the run, named after its dialect.
func Each[T runner[T]](t T, test func(t T, db DB)) {
	t.Helper()
	each(t, Databases(t), test)
}

// EachServer is like [Each] without SQLite.
func EachServer[T runner[T]](t T, test func(t T, db DB)) {
	t.Helper()
	each(t, Servers(t), test)
}

func each[T runner[T]](t T, dialects []string, test func(t T, db DB)) {
	for _, dialect := range dialects {
		t.Run(dialect, func(t T) { test(t, Open(t, dialect)) })
	}
}

// Postgres returns a new database on the run's Postgres server. The test is skipped if
// SNOWKEY_TEST_DB leaves Postgres out.
func Postgres(t TB) DB { t.Helper(); return Open(t, "postgres") }

// MySQL returns a new database on the run's MySQL or MariaDB server. The test is
// skipped if SNOWKEY_TEST_DB leaves MySQL out.
func MySQL(t TB) DB { t.Helper(); return Open(t, "mysql") }

// SQLite returns a new database file. The test is skipped if SNOWKEY_TEST_DB leaves
// SQLite out.
func SQLite(t TB) DB { t.Helper(); return Open(t, "sqlite") }

// Open returns a new database of one of the dialects that [Databases] returns.
func Open(t TB, dialect string) DB {
	t.Helper()
	requireWanted(t, dialect)
	if dialect == "sqlite" {
		return openSQLite(t)
	}
	s, err := sharedServer(dialect)
	if err != nil {
		t.Fatalf("%v", err)
	}
	name, db := s.CreateDatabase(t)
	t.Cleanup(func() {
		if err := s.Admin(fmt.Sprintf(s.engine.dropSQL, name)); err != nil {
			t.Fatalf("dbtest: drop the test's database on %s: %v", s.admin.Version, err)
		}
	})
	return db
}

// Durable returns a database on a private server that only this test uses, and that
// ends with the test. The server flushes every commit to disk, but otherwise has the
// default settings. Durable never uses a server from the environment, because other tests
// may be using it at the same time.
//
// Each of the settings is a server variable with its value, such as
// "max_connections=1300", and overrides the default. SQLite ignores them.
func Durable(t TB, dialect string, settings ...string) DB {
	t.Helper()
	if dialect == "sqlite" {
		return Open(t, dialect)
	}
	db, _ := Killable(t, dialect, settings...)
	return db
}

// Killable is like [Durable], but also returns the server's process so that the test
// can kill it.
func Killable(t TB, dialect string, settings ...string) (DB, *Process) {
	t.Helper()
	return private(t, dialect, Options{Settings: settings})
}

// Clocked is like [Killable], for a test that calls [Process.SetClock].
func Clocked(t TB, dialect string) (DB, *Process) {
	t.Helper()
	requireWanted(t, dialect)
	return private(t, dialect, Options{Command: underClock(t, "")})
}

func private(t TB, dialect string, o Options) (DB, *Process) {
	t.Helper()
	s := StartServer(t, dialect, o)
	_, db := s.CreateDatabase(t)
	return db, s.Process
}

// shared holds the servers started by the tests of this process. We never stop them
// ourselves, since their wardens do that when the process ends.
var shared = struct {
	sync.Mutex
	servers map[string]*Server // nil if a test has already reported why there is none
}{servers: make(map[string]*Server)}

func sharedServer(dialect string) (*Server, error) {
	shared.Lock()
	defer shared.Unlock()
	if s, tried := shared.servers[dialect]; s != nil {
		return s, nil
	} else if tried {
		return nil, fmt.Errorf("dbtest: no %s server; the first failed test says why and what to do", dialect)
	}
	s, err := start(dialect)
	shared.servers[dialect] = s
	return s, err
}

// start returns a server of a dialect. If it can't, the error explains what to do.
func start(dialect string) (s *Server, err error) {
	e := engineOf(dialect)
	if dsn := os.Getenv(e.env); dsn == "" {
		s, err = e.start(Options{fast: true})
	} else if !strings.Contains(dsn, e.form) {
		return nil, fmt.Errorf("dbtest: %s does not name a server in the form of %s", e.env, e.example)
	} else if s, err = e.connect(context.Background(), dsn, e.env); err != nil {
		return nil, fmt.Errorf("dbtest: the server that %s names does not answer: %w", e.env, err)
	}
	if err == nil {
		return s.is(Version(dialect))
	}
	if absent, ok := errors.AsType[*absentError](err); ok && absent.err == nil { // its packages can't be fetched here
		absent.err = fmt.Errorf(`or name a running server whose user may create
databases, such as the one of docker-compose.yml: %s='%s'
Tests that kill the server or set its clock need the programs.
To leave the database servers out of this run, say so: SNOWKEY_TEST_DB=sqlite`, e.env, e.example)
	}
	return nil, err
}
