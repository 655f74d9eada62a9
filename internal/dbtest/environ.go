package dbtest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

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
// SNOWKEY_TEST_DB lists the databases, Environ returns an error instead. If there is no
// way to get a server at all, the error lists every database that lacks one. A chosen
// version that can't be fetched may be left out even if SNOWKEY_TEST_DB lists it.
func Environ(all bool) (env []string, databases []Database, stop func(), err error) {
	var servers []*Server
	stop = func() {
		for _, srv := range servers {
			srv.stop()
		}
	}
	names, err := wanted(os.Getenv)
	if err != nil {
		return nil, nil, stop, err
	}
	listed := os.Getenv("SNOWKEY_TEST_DB") != ""
	var have []string
	var without missingError
	for _, name := range names {
		if slices.Contains(services, name) { // each test binary starts its own
			have = append(have, name)
			continue
		}
		if name == "sqlite" {
			databases = append(databases, Database{Dialect: name})
			have = append(have, name)
			continue
		}
		e, _ := engineOf(name)
		srv, err := start(name)
		m, isMissing := errors.AsType[missingError](err)
		_, isAbsent := errors.AsType[*absentError](err)
		switch {
		case err == nil:
			servers = append(servers, srv)
			env = append(env, srv.engine.env+"="+srv.dsn)
			databases = append(databases, Database{Dialect: name, Server: fmt.Sprintf("%s from %s", srv.version, srv.origin)})
			have = append(have, name)
		case isMissing:
			without = append(without, m...)
		case isAbsent && !all && (!listed || e.chosen() != ""):
			databases = append(databases, Database{Dialect: name, Missing: err})
		default:
			return nil, nil, stop, err
		}
	}
	if len(without) > 0 && (all || listed) {
		return nil, nil, stop, without
	}
	for _, e := range without {
		databases = append(databases, Database{Dialect: e.name, Missing: without})
	}
	return append(env, "SNOWKEY_TEST_DB="+strings.Join(have, ",")), databases, stop, nil
}
