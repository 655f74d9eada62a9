package dbtest

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// start returns a server of the given dialect. If it can't, the error explains what to
// do.
func start(dialect string) (*Server, error) {
	e, err := engineOf(dialect)
	if err != nil {
		return nil, err
	}
	if dsn := os.Getenv(e.env); dsn != "" {
		s, err := e.connect(dsn, e.env)
		if err != nil {
			return nil, fmt.Errorf("dbtest: the server that %s names does not answer: %w", e.env, err)
		}
		return s, nil
	}
	s, err := e.start(Options{fast: true})
	if absent, ok := errors.AsType[*absentError](err); ok && absent.err == nil { // they can't be fetched either
		if dockerAnswers() {
			return e.startContainer()
		}
		return nil, missingError{e}
	}
	return s, err
}

// Obtain makes sure that find succeeds, for which it may fetch the packages of Debian and
// Ubuntu. Otherwise the test can't run.
func Obtain(t TB, packages, needs string, find func() bool) {
	t.Helper()
	if err := obtain(packages, needs, find); err != nil {
		missing(t, err)
	}
}

// obtain returns an absentError if find fails and the packages can't be fetched.
func obtain(packages, needs string, find func() bool) error {
	if find() {
		return nil
	}
	if !mayFetch() {
		return &absentError{needs, packages, nil}
	}
	if err := fetch(packages); err != nil {
		return &absentError{needs, packages, err}
	}
	if !find() {
		return fmt.Errorf("dbtest: the packages %s do not have %s", packages, needs)
	}
	return nil
}

// An absentError names programs that aren't on this machine.
type absentError struct {
	needs, packages string
	err             error // why we couldn't fetch them, if we tried
}

func (e *absentError) Error() string {
	text := fmt.Sprintf("dbtest: this test needs %s on this machine (apt-get install %s)", e.needs, e.packages)
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

func (e *absentError) Unwrap() error { return e.err }

// A missingError lists the servers that we couldn't get, and what can be done about it.
type missingError []engine

func (missing missingError) Error() string {
	var names, env, programs, packs []string
	for _, e := range missing {
		names = append(names, e.name)
		env = append(env, fmt.Sprintf("       %s='%s'", e.env, e.example))
		programs = append(programs, fmt.Sprintf("       %s: %s", e.name, e.needs))
		packs = append(packs, e.pack)
	}
	return fmt.Sprintf(`dbtest: no %s server to test against. There are three ways out:
  1. name a running server whose user may create databases:
%s
  2. install the programs, from which the tests start a private server
     (on Debian, apt-get install %s):
%s
  3. start Docker, in which the tests run docker compose up -d --wait. Tests that
     kill the server or set its clock need the second way.
To leave the database servers out of this run, say so: SNOWKEY_TEST_DB=sqlite`,
		strings.Join(names, " and no "), strings.Join(env, "\n"), strings.Join(packs, " "), strings.Join(programs, "\n"))
}
