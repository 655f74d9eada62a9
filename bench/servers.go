package main

import (
	"database/sql"
	"fmt"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// servers starts private database servers. They have default settings, which means that
// every commit is flushed to disk. It implements dbtest.TB.
type servers struct {
	dir  string
	undo []func()
}

// A refusal is the reason why we didn't get a server.
type refusal string

func (s *servers) Helper()                   {}
func (s *servers) Name() string              { return "bench" }
func (s *servers) Logf(string, ...any)       {}
func (s *servers) TempDir() string           { return s.dir }
func (s *servers) Cleanup(undo func())       { s.undo = append(s.undo, undo) }
func (s *servers) Skipf(f string, a ...any)  { panic(refusal(fmt.Sprintf(f, a...))) }
func (s *servers) Fatalf(f string, a ...any) { panic(refusal(fmt.Sprintf(f, a...))) }

// start starts a server. If there is none, the error says which one.
func (s *servers) start(dialect string) (db dbtest.DB, conn *sql.DB, err error) {
	defer refused(dialect, &err)
	db = dbtest.Durable(s, dialect)
	return db, db.Connect(s), nil
}

// refused recovers from a panic with a refusal, and turns it into an error.
func refused(dialect string, err *error) {
	switch reason := recover().(type) {
	case nil:
	case refusal:
		*err = fmt.Errorf("%s: %s", dialect, reason)
	default:
		panic(reason)
	}
}

// open starts a server and connects to it.
func (s *servers) open(dialect string) (db *sql.DB, version string, err error) {
	started, db, err := s.start(dialect)
	return db, started.Version, err
}

func (s *servers) close() error {
	for len(s.undo) > 0 {
		last := s.undo[len(s.undo)-1]
		s.undo = s.undo[:len(s.undo)-1]
		last()
	}
	return nil
}
