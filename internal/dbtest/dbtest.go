package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
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

// Address returns the network address of db's server.
func (db DB) Address() string {
	_, address := engineOf(db.Dialect).addressOf(db.DSN)
	return address
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
	conn, err := sql.Open(db.Driver, db.DSN)
	if err != nil {
		t.Fatalf("dbtest: open %s: %v", db.Dialect, err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.Ping(); err != nil {
		t.Fatalf("dbtest: connect to %s: %v", db.Dialect, err)
	}
	return conn
}

// read reads a single value, using a new connection.
func (db DB) read(query string, value any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	conn, err := sql.Open(db.Driver, db.DSN)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.QueryRowContext(ctx, query).Scan(value)
}

// ConnectUnlessRefused is like [DB.Connect], but skips the test if the server refuses the
// isolation level in the DSN, as TiDB refuses SERIALIZABLE.
func (db DB) ConnectUnlessRefused(t TB) *sql.DB {
	t.Helper()
	conn, err := sql.Open(db.Driver, db.DSN)
	if err != nil {
		t.Fatalf("dbtest: open %s: %v", db.Dialect, err)
	}
	defer conn.Close()
	const unsupportedIsolation = 8048
	if e, ok := errors.AsType[*mysqldriver.MySQLError](conn.Ping()); ok && e.Number == unsupportedIsolation {
		t.Skipf("%s refuses the isolation level: %v", db.Version, e)
	}
	return db.Connect(t)
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
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("dbtest: SNOWKEY_TEST_DB=%s: %q is not a database; use a list of %s, or unset it to test them all",
				list, name, strings.Join(all, ", "))
		}
		names = append(names, name)
	}
	return names, nil
}

// Databases returns the dialects that this run must cover: "sqlite", "postgres" and
// "mysql", unless SNOWKEY_TEST_DB contains a comma-separated list of some of them.
func Databases(t TB) []string {
	t.Helper()
	names, err := wanted()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(services, name) })
}

// Servers is like [Databases] without SQLite.
func Servers(t TB) []string {
	t.Helper()
	return slices.DeleteFunc(Databases(t), func(dialect string) bool { return dialect == "sqlite" })
}

// Wants reports whether this run must cover a database or a service, such as "redis".
func Wants(t TB, name string) bool {
	t.Helper()
	names, err := wanted()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return slices.Contains(names, name)
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

// SQLite returns a new database file in t.TempDir. The test is skipped if
// SNOWKEY_TEST_DB leaves SQLite out.
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
			t.Fatalf("dbtest: drop the test's database on %s: %v", s.version, err)
		}
	})
	return db
}

// Durable returns a database on a private server that only this test uses, and that
// ends with the test. The server flushes every commit to disk, but otherwise has the
// default settings. Durable never uses a server from the environment or from docker
// compose, because other tests may be using it at the same time.
//
// Each of the settings is a server variable with its value, such as
// "max_connections=1300", and overrides the default. SQLite ignores them.
func Durable(t TB, dialect string, settings ...string) DB {
	t.Helper()
	if dialect == "sqlite" {
		requireWanted(t, dialect)
		return openSQLite(t)
	}
	db, _ := Killable(t, dialect, settings...)
	return db
}

// Killable is like [Durable], but also returns the server's process so that the test
// can kill it.
func Killable(t TB, dialect string, settings ...string) (DB, *Process) {
	t.Helper()
	s := StartServer(t, dialect, Options{Settings: settings})
	_, db := s.CreateDatabase(t)
	return db, s.Process
}

// WithCommand is like [Killable], for a test that needs to start the server with other
// options or in another environment. See [Options] for change.
func WithCommand(t TB, dialect string, change func(dir string, command []string) []string) (DB, *Process) {
	t.Helper()
	s := StartServer(t, dialect, Options{Command: change})
	_, db := s.CreateDatabase(t)
	return db, s.Process
}

// Clocked is like [Killable], for a test that sets the server's clock.
func Clocked(t TB, dialect string) (DB, *Process, *Clock) {
	t.Helper()
	requireWanted(t, dialect)
	clock, underClock := newClock(t, "")
	db, process := WithCommand(t, dialect, underClock)
	return db, process, clock
}

// missing ends a test whose program did not start. See NotRun if that is because the
// program isn't there.
func missing(t TB, err error) {
	t.Helper()
	if _, absent := errors.AsType[*absentError](err); !absent {
		t.Fatalf("%v", err)
	}
	NotRun(t, err.Error())
}

// NotRun ends a test that can't run because a program isn't there. The test fails unless
// SNOWKEY_TEST_MISSING names a file, in which case we skip the test and append its name
// to the file.
func NotRun(t TB, why string) {
	t.Helper()
	file := os.Getenv("SNOWKEY_TEST_MISSING")
	if file == "" {
		t.Fatalf("%s", why)
	}
	names, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(names, t.Name())
		err = errors.Join(err, names.Close())
	}
	if err != nil {
		t.Fatalf("%s, and SNOWKEY_TEST_MISSING cannot say so: %v", why, err)
	}
	t.Skipf("not run: %s", why)
}

// shared holds the servers started by the tests of this process. We never stop them
// ourselves, since their wardens do that when the process ends.
var shared struct {
	sync.Mutex
	servers map[string]*Server
	missing map[string]bool // dialects for which a test has already reported the full error
}

func sharedServer(dialect string) (*Server, error) {
	shared.Lock()
	defer shared.Unlock()
	if s := shared.servers[dialect]; s != nil {
		return s, nil
	}
	if shared.missing[dialect] {
		// Only the first test gets the long explanation.
		return nil, fmt.Errorf("dbtest: no %s server; the first failed test says why and what to do", dialect)
	}
	if shared.servers == nil {
		shared.servers, shared.missing = make(map[string]*Server), make(map[string]bool)
	}
	s, err := start(dialect)
	shared.servers[dialect], shared.missing[dialect] = s, err != nil
	return s, err
}

// start returns a server of a dialect. If it can't, the error explains what to do.
func start(dialect string) (*Server, error) {
	e := engineOf(dialect)
	if dsn := os.Getenv(e.env); dsn != "" {
		s, err := e.connect(context.Background(), dsn, e.env)
		if err != nil {
			return nil, fmt.Errorf("dbtest: the server that %s names does not answer: %w", e.env, err)
		}
		return s, nil
	}
	s, err := e.start(Options{fast: true})
	if absent, ok := errors.AsType[*absentError](err); !ok || absent.err != nil {
		return s, err
	}
	// The programs can't be fetched either.
	if dockerAnswers() {
		return e.startContainer()
	}
	return nil, &absentError{e.needs, e.pack, fmt.Errorf(`there are two other ways to a server for %s:
  - Name a running one whose user may create databases: %s='%s'
  - Start Docker, in which the tests run docker compose up -d --wait. Tests that kill
    the server or set its clock need the programs.
To leave the database servers out of this run, say so: SNOWKEY_TEST_DB=sqlite`, e.name, e.env, e.example)}
}

// A Database describes one of the databases that a run was asked to test, whether or
// not it's available.
type Database struct {
	Dialect string
	Server  string // such as "postgres 15.18 from a private server"; empty for SQLite, which needs none
	Missing error  // if there's no server, why not and what to do about it
}

// Environ starts a server for each database of the run. It returns the environment
// variables ("SNOWKEY_TEST_POSTGRES=…") through which the tests of other processes find
// these servers, the databases, and a function that stops the servers.
//
// Databases that aren't available are normally left out. However, if all is true or
// SNOWKEY_TEST_DB lists the databases, Environ returns an error instead, which names each
// database without a server. A chosen version that can't be fetched may be left out even
// if SNOWKEY_TEST_DB lists it.
func Environ(all bool) (env []string, databases []Database, stop func(), err error) {
	var servers []*Server
	stop = func() {
		for _, s := range servers {
			s.stop()
		}
	}
	names, err := wanted()
	if err != nil {
		return nil, nil, stop, err
	}
	var have []string
	var missing error
	for _, name := range names {
		if slices.Contains(services, name) { // each test starts its own
			have = append(have, name)
			continue
		}
		if name == "sqlite" {
			have, databases = append(have, name), append(databases, Database{Dialect: name})
			continue
		}
		e := engineOf(name)
		s, err := start(name)
		if err == nil {
			servers, have, env = append(servers, s), append(have, name), append(env, e.env+"="+s.dsn)
			databases = append(databases, Database{Dialect: name, Server: fmt.Sprintf("%s from %s", s.version, s.origin)})
			continue
		}
		databases = append(databases, Database{Dialect: name, Missing: err})
		_, absent := errors.AsType[*absentError](err)
		if !absent || all || os.Getenv("SNOWKEY_TEST_DB") != "" && e.chosen() == "" {
			missing = errors.Join(missing, err)
		}
	}
	return append(env, "SNOWKEY_TEST_DB="+strings.Join(have, ",")), databases, stop, missing
}

// Choice returns the environment variables ("SNOWKEY_TEST_DB=mysql") for a run on nothing
// but a fetched server, such as "mysql9" or "postgres18".
func Choice(server string) (env []string, err error) {
	var names []string
	for _, e := range []engine{mysql, postgres} {
		for _, version := range slices.Sorted(maps.Keys(e.versions)) {
			name := e.serverName(version)
			if server == name {
				return []string{"SNOWKEY_TEST_DB=" + e.name, e.env + "=", e.env + "_VERSION=" + version}, nil
			}
			names = append(names, name)
		}
	}
	return nil, fmt.Errorf("dbtest: %q is not a server that can be fetched; they are %s", server, strings.Join(names, ", "))
}
