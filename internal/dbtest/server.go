package dbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An engine is a kind of database server.
type engine struct {
	name    string // the dialect
	driver  string // for sql.Open
	env     string // the variable that holds a DSN
	example string // a DSN for the error message, to show what env should contain
	needs   string // the programs of a private server, for the same message
	pack    string // the Debian and Ubuntu packages that have them
	account string // the account that the package creates for the server
	quit    string // the signal that makes the server exit immediately

	private string // the DSN of a private server
	compose string // the DSN of the service called name in docker-compose.yml

	versionSQL string
	// dataSQL selects the server's data directory, by which we can tell that the server
	// listening on the port is really the one that we started.
	dataSQL            string
	createSQL, dropSQL string // with %s for the name of a database

	// find returns the programs of this machine.
	find func() (in installation, ok bool)
	// versions are those that a run can choose with the variable env + "_VERSION". They
	// are fetched, and used instead of what find returns.
	versions map[string]version
	// serve returns the arguments of a server. If a variable is set more than once, the
	// last value wins. A server that is not durable doesn't flush to disk.
	serve func(program, data string, port int, durable bool) []string
	// change returns dsn with another database, or with the server at another TCP
	// address. What is empty stays. dsn must be one that connect has accepted.
	change func(dsn, database, address string) string
	// addressOf returns the network and address of dsn's server, as net.Dial expects
	// them.
	addressOf func(dsn string) (network, address string)
}

// An installation is the programs of a server.
type installation struct {
	command    []string // that runs the server; the last word is its path
	initialise func(data string) []string
}

// A version is a version of a server that dbtest can fetch, no matter which one this
// machine has.
type version struct {
	needs, pack string // as in engine, for the error message
	fetch       func() (installation, error)
}

// engineOf panics if there is none, because the names are written in the tests.
func engineOf(dialect string) engine {
	switch dialect {
	case "postgres":
		return postgres
	case "mysql":
		return mysql
	}
	panic(fmt.Sprintf("dbtest: %q is not a database server; use postgres or mysql", dialect))
}

// chosen returns the version that the run has chosen, or an empty string.
func (e engine) chosen() string { return os.Getenv(e.env + "_VERSION") }

// programs returns the programs of a version, or those of this machine. It fetches them
// if necessary.
func (e engine) programs(name string) (in installation, err error) {
	if name == "" {
		err = obtain(e.pack, e.needs, func() (ok bool) {
			in, ok = e.find()
			return ok
		})
		return in, err
	}
	v, ok := e.versions[name]
	if !ok {
		return in, fmt.Errorf("dbtest: %s_VERSION=%s: the versions are %s; unset it to use the programs of this machine",
			e.env, name, strings.Join(slices.Sorted(maps.Keys(e.versions)), ", "))
	}
	if in, err = v.fetch(); err != nil {
		err = &absentError{v.needs, v.pack, err}
	}
	return in, err
}

// serverName returns the name of a server of the given version, such as "postgres18". A
// server that is not called after the engine has its name in the version, like "mariadb11".
func (e engine) serverName(version string) string {
	if version[0] <= '9' {
		return e.name + version
	}
	return version
}

// A Server is a running database server, together with the data needed to reach it.
type Server struct {
	*Process // nil if the server isn't ours

	engine  engine
	dsn     string // logs in as an administrator, to a database that always exists
	version string
	mariaDB bool
	origin  string // where it came from, for logs
}

// Options change how [StartServer] starts a server.
type Options struct {
	// Version is a version that is fetched, such as "9". By default, it's the one that
	// the run has chosen or this machine has.
	Version string
	// Settings are server variables with their values.
	Settings []string
	// Command gets the server's directory and its command line, and returns the command
	// line to run instead, unless it's nil.
	Command func(dir string, command []string) []string
	// Namespace is a network namespace in which MySQL runs. It then has no address
	// outside, so dbtest connects through a Unix socket.
	Namespace string

	fast bool // doesn't flush to disk
}

// StartServer starts a private server that only this test uses, and that ends with the
// test. It flushes every commit to disk.
func StartServer(t TB, dialect string, o Options) *Server {
	t.Helper()
	requireWanted(t, dialect)
	s, err := engineOf(dialect).start(o)
	if err != nil {
		missing(t, err)
	}
	t.Cleanup(s.stop)
	return s
}

// start runs a private server, and fetches its programs first if necessary.
func (e engine) start(o Options) (*Server, error) {
	chosen := e.chosen()
	if o.Version != "" {
		chosen = o.Version
	}
	in, err := e.programs(chosen)
	if err != nil {
		return nil, err
	}
	s, err := e.run(in, o)
	if err == nil && chosen != "" && !strings.HasPrefix(strings.Replace(s.version, " ", "", 1), e.serverName(chosen)+".") {
		s.stop()
		return nil, fmt.Errorf("dbtest: %s_VERSION=%s, but what was fetched is %s; remove it from the cache, or use another version", e.env, chosen, s.version)
	}
	return s, err
}

// run runs a private server of an installation.
func (e engine) run(in installation, o Options) (*Server, error) {
	var s *Server
	var home string
	process, err := Service{
		Name: e.name, Account: e.account, Quit: e.quit,
		initialise: in.initialise, namespace: o.Namespace, fast: o.fast,
		Serve: func(command []string, data string, port int) []string {
			home = filepath.Dir(data)
			command = slices.Concat(command, e.serve(command[len(command)-1], data, port, !o.fast))
			for _, setting := range o.Settings {
				command = append(command, "--"+setting)
			}
			if o.Command != nil {
				command = o.Command(home, command)
			}
			return command
		},
		Answers: func(ctx context.Context, address string) (err error) {
			dsn := e.change(e.private, "", address)
			if o.Namespace != "" {
				dsn = "root@unix(" + filepath.Join(home, "sock") + ")/"
			}
			if s, err = e.connect(ctx, dsn, "a private server"); err != nil {
				return err
			}
			var data string
			if err := s.read(e.dataSQL, &data); err != nil {
				return err
			}
			if !strings.Contains(data, filepath.Base(home)) {
				return errors.New("another server has taken its port, which was already in use")
			}
			return nil
		},
	}.launch(in.command)
	if err != nil {
		return nil, err
	}
	s.Process = process
	return s, nil
}

// connect checks that a server answers, and returns it along with its version.
func (e engine) connect(ctx context.Context, dsn, origin string) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	s := &Server{engine: e, dsn: dsn, origin: origin}
	db, err := sql.Open(e.driver, dsn)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var version string
	if err := db.QueryRowContext(ctx, e.versionSQL).Scan(&version); err != nil {
		return nil, err
	}
	s.mariaDB = strings.Contains(version, "MariaDB")
	s.version = e.name + " " + number(version)
	if s.mariaDB {
		s.version = "mariadb " + number(version)
	}
	return s, nil
}

// number cuts a version such as "15.18 (Debian 15.18-0+deb12u1)" or
// "10.11.19-MariaDB-0+deb12u1" down to just the number.
func number(version string) string {
	if i := strings.IndexAny(version, " -"); i >= 0 {
		return version[:i]
	}
	return version
}

// stop stops the server if it is ours.
func (s *Server) stop() {
	if s.Process != nil {
		s.Process.stop()
	}
}

// CreateDatabase creates a database with a random name, and returns the name as well.
func (s *Server) CreateDatabase(t TB) (name string, db DB) {
	t.Helper()
	name = "snowkey_" + strings.ToLower(rand.Text()[:12])
	statement := fmt.Sprintf(s.engine.createSQL, name)
	if majorOf(s.version) >= 15 {
		statement += " STRATEGY file_copy" // the default writes the whole template to the WAL, which takes six times as long
	}
	if err := s.Admin(statement); err != nil {
		t.Fatalf("dbtest: create a database on %s from %s: %v", s.version, s.origin, err)
	}
	t.Logf("%s from %s", s.version, s.origin)
	return name, s.Database(name)
}

// Database returns a database of the server.
func (s *Server) Database(name string) DB {
	return DB{Dialect: s.engine.name, Driver: s.engine.driver, DSN: s.engine.change(s.dsn, name, ""), Version: s.version, MariaDB: s.mariaDB}
}

// Admin runs statements as the administrator, in one session. It doesn't take the test's
// context because it also cleans up after a test, when that context has already ended.
func (s *Server) Admin(statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open(s.engine.driver, s.dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) read(query string, value any) error {
	return DB{Driver: s.engine.driver, DSN: s.dsn}.read(query, value)
}
