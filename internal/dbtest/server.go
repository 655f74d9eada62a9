package dbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// A Server is a running database server, together with the data needed to reach it.
type Server struct {
	*Process     // nil if the server isn't ours
	Port     int // of a private server

	engine  engine
	dsn     string // logs in as an administrator, to a database that always exists
	version string
	mariaDB bool
	origin  string // where it came from, for logs
	stop    func() // stops the server and waits until it's gone; does nothing if the server isn't ours
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
	e, err := engineOf(dialect)
	if err != nil {
		t.Fatalf("%v", err)
	}
	s, err := e.start(o)
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
	process, err := program{
		name: e.name, account: e.account, quit: in.quit, namespace: o.Namespace, fast: o.fast,
		initialise: in.initialise,
		serve: func(dir, data string, port int) []string {
			command := in.serve(dir, data, port, !o.fast)
			for _, setting := range o.Settings {
				command = append(command, in.setting(setting)...)
			}
			if o.Command != nil {
				command = o.Command(dir, command)
			}
			return command
		},
		answers: func(dir string, port int) (err error) {
			dsn := in.dsn(port)
			if o.Namespace != "" {
				dsn = "root@unix(" + filepath.Join(dir, "sock") + ")/"
			}
			if s, err = e.connect(dsn, "a private server"); err != nil {
				return err
			}
			var data string
			if err := s.read(in.dataSQL, &data); err != nil {
				return err
			}
			if !strings.Contains(data, filepath.Base(dir)) {
				return errors.New("another server has taken its port, which was already in use")
			}
			return nil
		},
	}.launch()
	if err != nil {
		return nil, err
	}
	s.Process, s.Port, s.stop = process, process.port, process.warden.stop
	return s, nil
}

// CreateDatabase creates a database with a random name, and returns the name as well.
func (s *Server) CreateDatabase(t TB) (name string, db DB) {
	t.Helper()
	name = "snowkey_" + strings.ToLower(rand.Text()[:12])
	if err := s.Admin(s.engine.createSQL(s.version, name)); err != nil {
		t.Fatalf("dbtest: create a database on %s from %s: %v", s.version, s.origin, err)
	}
	t.Logf("%s from %s", s.version, s.origin)
	return name, s.Database(t, name)
}

// Database returns a database of the server.
func (s *Server) Database(t TB, name string) DB {
	t.Helper()
	dsn, err := s.engine.withDatabase(s.dsn, name)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	return DB{Dialect: s.engine.name, Driver: s.engine.driver, DSN: dsn, Version: s.version, MariaDB: s.mariaDB}
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
