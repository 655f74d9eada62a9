package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A way is where a server comes from.
type way string

const (
	environment way = "environment" // a DSN in a variable
	private     way = "private"     // programs found on this machine
	containers  way = "containers"  // docker compose
	install     way = "install"     // apt-get, and then private
	none        way = ""
)

// A machine is what the choice of a way depends on.
type machine struct {
	getenv     func(string) string
	find       finder
	docker     func() bool // whether an engine answers, and compose.yml is here
	mayInstall func() bool // root on Debian or Ubuntu
}

var thisMachine = machine{getenv: os.Getenv, find: findPrograms, docker: dockerAnswers, mayInstall: mayInstall}

// choose returns the first way to a server that m offers.
func (m machine) choose(e engine) way {
	if m.getenv(e.env) != "" {
		return environment
	}
	if _, ok := e.find(m.find); ok {
		return private
	}
	if m.docker() {
		return containers
	}
	if m.mayInstall() {
		return install
	}
	return none
}

// start returns a server of the dialect, or an error that says what to do.
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
	case private, install:
		return e.startFound(false)
	default:
		return nil, missingError{e}
	}
}

// startFound runs a private server with the given settings. It first installs the
// server where that is ours to do.
func (e engine) startFound(durable bool, settings ...string) (*server, error) {
	in, ok := e.find(thisMachine.find)
	if !ok && thisMachine.mayInstall() {
		err := locked(func() error {
			if _, ok := e.find(thisMachine.find); ok {
				return nil // another test binary has done it while we waited
			}
			return aptGetInstall(e.pack)
		})
		if err != nil {
			return nil, err
		}
		in, ok = e.find(thisMachine.find)
	}
	if !ok {
		return nil, fmt.Errorf("dbtest: a private %s server needs %s on this machine (apt-get install %s)", e.name, e.needs, e.pack)
	}
	return e.startPrivate(in.with(settings), durable)
}

// A missingError lists the servers that could not be had, and the ways out.
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
     (apt-get install %s; the tests do that themselves as root on Debian and Ubuntu):
%s
  3. start Docker, in which the tests run docker compose up -d --wait.
To leave the database servers out of this run, say so: SNOWKEY_TEST_DB=sqlite`,
		strings.Join(names, " and no "), strings.Join(env, "\n"), strings.Join(packs, " "), strings.Join(programs, "\n"))
}

// findPrograms is the finder of this machine.
func findPrograms(patterns []string, names ...string) ([]string, bool) {
	paths, ok := lookAll(exec.LookPath, names)
	for i := 0; !ok && i < len(patterns); i++ {
		dirs, _ := filepath.Glob(patterns[i])
		slices.Reverse(dirs) // the newest version first, as long as they have equally many digits
		for _, dir := range dirs {
			inDir := func(name string) (string, error) { return exec.LookPath(filepath.Join(dir, name)) }
			if paths, ok = lookAll(inDir, names); ok {
				break
			}
		}
	}
	return paths, ok
}

func lookAll(look func(string) (string, error), names []string) (paths []string, ok bool) {
	for _, name := range names {
		path, err := look(name)
		if err != nil {
			return nil, false
		}
		paths = append(paths, path)
	}
	return paths, true
}
