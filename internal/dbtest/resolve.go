package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A way is one of the ways to get a server.
type way string

const (
	environment way = "environment" // a DSN in an environment variable
	private     way = "private"     // programs found on this machine, or of the version that the run has chosen
	install     way = "install"     // apt-get install, followed by private
	unpack      way = "unpack"      // packages unpacked into a cache, followed by private
	containers  way = "containers"  // docker compose
	none        way = ""
)

// A machine is everything that the choice of a way depends on.
type machine struct {
	getenv     func(string) string
	find       finder
	mayInstall func() bool // we're root on Debian or Ubuntu, and the user has allowed it
	mayFetch   func() bool // we're on Debian or Ubuntu
	docker     func() bool // an engine answers, and there's a docker-compose.yml
}

var thisMachine = machine{getenv: os.Getenv, find: findPrograms, mayInstall: mayInstall, mayFetch: mayFetch, docker: dockerAnswers}

// choose returns the first way to get a server that m offers.
func (m machine) choose(e engine) way {
	if m.getenv(e.env) != "" {
		return environment
	}
	if e.version(m.getenv) != "" {
		return private
	}
	if _, ok := e.find(m.find); ok {
		return private
	}
	if m.mayInstall() {
		return install
	}
	if m.mayFetch() {
		return unpack
	}
	if m.docker() {
		return containers
	}
	return none
}

// start returns a server of the given dialect. If it can't, the error explains what to
// do.
func start(dialect string) (*server, error) {
	e, err := engineOf(dialect)
	if err != nil {
		return nil, err
	}
	switch thisMachine.choose(e) {
	case environment:
		srv, err := e.connect(os.Getenv(e.env), e.env)
		if err != nil {
			return nil, fmt.Errorf("dbtest: the server that %s names does not answer: %w", e.env, err)
		}
		return srv, nil
	case containers:
		return e.startContainer()
	case private, install, unpack:
		return e.startFound(false)
	default:
		return nil, missingError{e}
	}
}

// startFound runs a private server with the given settings, and obtains its programs
// first if necessary.
func (e engine) startFound(durable bool, settings ...string) (*server, error) {
	in, err := e.programs()
	if err != nil {
		return nil, err
	}
	in = in.with(settings)
	if e.command != nil {
		serve := in.serve
		in.serve = func(dir, data string, port int, durable bool) []string {
			return e.command(dir, serve(dir, data, port, durable))
		}
	}
	srv, err := e.startPrivate(in, durable)
	if name := e.version(thisMachine.getenv); err == nil && name != "" && !strings.HasPrefix(strings.Replace(srv.version, " ", "", 1), e.serverName(name)+".") {
		srv.stop()
		return nil, fmt.Errorf("dbtest: %s_VERSION=%s, but what was fetched is %s; remove it from the cache, or use another version", e.env, name, srv.version)
	}
	return srv, err
}

// obtain makes sure that find succeeds, for which it may install or fetch the packages.
// It returns an absentError if they can't be had on this machine.
func obtain(packages, needs string, find func() bool) error {
	if find() {
		return nil
	}
	var err error
	switch {
	case thisMachine.mayInstall():
		err = locked(func() error {
			if find() {
				return nil // another test binary has done it while we were waiting for the lock
			}
			return aptGetInstall(strings.Fields(packages)...)
		})
	case thisMachine.mayFetch():
		err = fetch(packages)
	default:
		return &absentError{needs, packages, nil}
	}
	if err != nil {
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
	err             error // why we couldn't get them, if we tried
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
     (apt-get install %s, or make test INSTALL=1 as root):
%s
  3. start Docker, in which the tests run docker compose up -d --wait. Tests that
     kill the server or set its clock need the second way.
To leave the database servers out of this run, say so: SNOWKEY_TEST_DB=sqlite`,
		strings.Join(names, " and no "), strings.Join(env, "\n"), strings.Join(packs, " "), strings.Join(programs, "\n"))
}

// findPrograms is the finder for this machine.
func findPrograms(patterns []string, names ...string) ([]string, bool) {
	paths, ok := lookAll(exec.LookPath, names)
	for i := 0; !ok && i < len(patterns); i++ {
		dirs, _ := filepath.Glob(patterns[i])
		slices.Reverse(dirs) // newest version first, as long as all of them have the same number of digits
		for _, dir := range dirs {
			inDir := func(name string) (string, error) { return exec.LookPath(filepath.Join(dir, name)) }
			if paths, ok = lookAll(inDir, names); ok {
				break
			}
		}
	}
	return paths, ok
}

// lookAll prefers the directory of the first program for the others, because the program
// of that name in PATH may be a script that looks for another installation.
func lookAll(look func(string) (string, error), names []string) (paths []string, ok bool) {
	for i, name := range names {
		path, err := look(name)
		if i > 0 {
			if beside, err := exec.LookPath(filepath.Join(filepath.Dir(paths[0]), name)); err == nil {
				path = beside
			}
		}
		if err != nil {
			return nil, false
		}
		paths = append(paths, path)
	}
	return paths, true
}
