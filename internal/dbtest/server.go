package dbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An engine is a kind of database server.
type engine struct {
	name    string // the dialect
	driver  string // for sql.Open
	env     string // the variable that holds a DSN
	form    string // what such a DSN has
	example string // a DSN for error messages
	needs   string // the programs of a private server, for the same message
	pack    string // the Debian and Ubuntu packages that have them
	account string // the account that the package creates for the server
	quit    string // the signal that makes the server exit immediately

	private string // the DSN of a private server

	versionSQL string
	// dataSQL selects the server's data directory, by which we can tell that the server
	// listening on the port is really the one that we started.
	dataSQL            string
	createSQL, dropSQL string // with %s for the name of a database

	// find returns the programs of this machine.
	find func() (in installation, ok bool)
	// versions are the names in SNOWKEY_TEST_DB for servers that are fetched, such as
	// "mysql9", no matter what this machine has. fetch returns the programs of one.
	versions []string
	fetch    func(version string) (installation, error)
	// serve returns the arguments of a server. If a variable is set more than once, the
	// last value wins. A server that is not durable doesn't flush to disk.
	serve func(program, data string, port int, durable bool) []string
	// change returns dsn with another database, or with the server at another TCP
	// address. What is empty stays. dsn must be one that connect has accepted.
	change func(dsn, database, address string) string
	// addressOf returns the TCP address of dsn's server.
	addressOf func(dsn string) string
}

// An installation is the programs of a server.
type installation struct {
	command    []string // that runs the server; the last word is its path
	initialise func(data string) []string
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

// programs returns the programs of a version, or those of this machine if that is empty.
// It fetches them if necessary.
func (e engine) programs(version string) (in installation, err error) {
	if version != "" {
		if in, err = e.fetch(version); err != nil {
			err = &absentError{version, "", err}
		}
		return in, err
	}
	err = obtain(e.pack, e.needs, func() (ok bool) {
		in, ok = e.find()
		return ok
	})
	return in, err
}

// A Server is a running database server, together with the data needed to reach it.
type Server struct {
	*Process // nil if the server isn't ours

	engine engine
	admin  DB     // a database that always exists, as an administrator
	origin string // where the server came from, for logs
}

func (s *Server) String() string { return s.admin.Version + " from " + s.origin }

// Options change how [StartServer] starts a server.
type Options struct {
	// Version is one of those in SNOWKEY_TEST_DB, such as "mysql9". By default, it's the
	// one that the run has chosen or this machine has.
	Version string
	// Settings are server variables with their values.
	Settings []string
	// Command gets the server's directory and its command line, and returns the command
	// line to run instead, unless it's nil.
	Command func(dir string, command []string) []string

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
	return Must(s.is(o.Version))(t)
}

// start runs a private server, and fetches its programs first if necessary.
func (e engine) start(o Options) (*Server, error) {
	if o.Version == "" {
		o.Version = Version(e.name)
	}
	in, err := e.programs(o.Version)
	if err != nil {
		return nil, err
	}
	return e.run(in, o)
}

// is returns s, or an error unless version is empty or that of the server.
func (s *Server) is(version string) (*Server, error) {
	if version != "" && !strings.HasPrefix(strings.Replace(s.admin.Version, " ", "", 1), version+".") {
		return nil, fmt.Errorf("dbtest: %s was to be tested, and this is %s", version, s)
	}
	return s, nil
}

// run runs a private server of an installation.
func (e engine) run(in installation, o Options) (*Server, error) {
	var s *Server
	var home string
	process, err := Service{
		Name: e.name, Account: e.account, Quit: e.quit, initialise: in.initialise, fast: o.fast,
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
			if s, err = e.connect(ctx, e.change(e.private, "", address), "a private server"); err != nil {
				return err
			}
			var data string
			if err := s.admin.read(e.dataSQL, &data); err != nil {
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
	conn, err := sql.Open(e.driver, dsn)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var version string
	if err := conn.QueryRowContext(ctx, e.versionSQL).Scan(&version); err != nil {
		return nil, err
	}
	db := DB{Dialect: e.name, Driver: e.driver, DSN: dsn, Version: e.name + " " + number(version), MariaDB: strings.Contains(version, "MariaDB")}
	if db.MariaDB {
		db.Version = "mariadb " + number(version)
	}
	return &Server{engine: e, admin: db, origin: origin}, nil
}

// number cuts a version such as "15.18 (Debian 15.18-0+deb12u1)" or
// "10.11.19-MariaDB-0+deb12u1" down to just the number.
var number = regexp.MustCompile(`^[^ -]*`).FindString

// CreateDatabase creates a database with a random name, and returns the name as well.
func (s *Server) CreateDatabase(t TB) (name string, db DB) {
	t.Helper()
	name = "snowkey_" + strings.ToLower(rand.Text()[:12])
	statement := fmt.Sprintf(s.engine.createSQL, name)
	if majorOf(s.admin.Version) >= 15 {
		statement += " STRATEGY file_copy" // the default writes the whole template to the WAL, which takes six times as long
	}
	if err := s.Admin(statement); err != nil {
		t.Fatalf("dbtest: create a database on %s: %v", s, err)
	}
	t.Logf("%s", s)
	db = s.admin
	db.DSN = s.engine.change(db.DSN, name, "")
	return name, db
}

// Admin runs statements as the administrator, in one session.
func (s *Server) Admin(statements ...string) error {
	return s.admin.session(func(ctx context.Context, conn *sql.Conn) error {
		for _, statement := range statements {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}
