// Withdb runs a command, having started database servers for its tests, and exits with
// the status of the command:
//
//	go run ./internal/dbtest/withdb [-all] [-servers LIST] go test ./...
//
// See package dbtest for where the servers come from. They are stopped when the command
// ends.
//
// With -servers 'postgres18 mysql9', withdb runs the command once for each of these
// servers, whose programs it fetches, and the tests use no other database. The command
// runs on all of them even if it fails on one. The last lines of output have the exact
// versions.
//
// By default, withdb leaves out databases that aren't available. It also leaves out
// tests that start a server of their own if the programs to run one aren't there. The
// last lines of output say what was tested, and how to add the rest. With -all,
// anything missing is an error.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func main() {
	all := flag.Bool("all", false, "demand every database and every program")
	servers := flag.String("servers", "", "run the command for each server of this `list`, such as 'postgres18 mysql9'")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: withdb [-all] [-servers list] command [argument ...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	status, err := 0, error(nil)
	if *servers != "" {
		status, err = runOnEach(os.Stdout, *all, strings.Fields(*servers), flag.Args())
	} else {
		_, status, err = run(os.Stdout, *all, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// runOnEach runs the command once for each of the servers, and writes a table of the
// results. Its status is that of the first run that failed.
func runOnEach(out io.Writer, all bool, servers, command []string) (status int, err error) {
	var table strings.Builder
	for _, server := range servers {
		env, err := dbtest.Choice(server)
		if err != nil {
			return 1, err
		}
		for _, pair := range env {
			name, value, _ := strings.Cut(pair, "=")
			os.Setenv(name, value)
		}
		fmt.Fprintln(out, "withdb: on", server)
		start := time.Now()
		databases, s, err := run(out, all, command)
		result := "passed"
		switch {
		case err != nil:
			fmt.Fprintln(out, err)
			result = "failed: " + firstLine(err)
		case s != 0:
			result = fmt.Sprintf("failed with status %d", s)
		case databases[0].Missing != nil:
			result = "not tested: " + firstLine(databases[0].Missing)
		}
		if len(databases) > 0 && databases[0].Server != "" {
			server = databases[0].Server
		}
		fmt.Fprintf(&table, "  %s: %s (%v)\n", server, result, time.Since(start).Round(time.Second))
		status = cmp.Or(status, s)
	}
	fmt.Fprintf(out, "\nServers of this run:\n%s", &table)
	return status, nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func run(out io.Writer, all bool, command []string) (databases []dbtest.Database, status int, err error) {
	env, databases, stop, err := dbtest.Environ(all)
	defer stop()
	if err != nil {
		return nil, 1, err
	}
	if !slices.ContainsFunc(databases, func(db dbtest.Database) bool { return db.Missing == nil }) {
		summary(out, databases, "")
		return databases, 0, nil // with an empty list of databases, the tests would use all of them
	}
	var notRun string
	if !all {
		notRun = filepath.Join(os.TempDir(), fmt.Sprintf("snowkey-not-run-%d", os.Getpid()))
		defer os.Remove(notRun)
		env = append(env, "SNOWKEY_TEST_MISSING="+notRun)
	}
	for _, db := range databases {
		if db.Server != "" {
			fmt.Fprintln(out, "withdb:", db.Server)
		}
	}
	// We ignore ^C because the command receives it as well. We leave it to the command
	// how to end, and clean up after it.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, os.Stderr
	err = cmd.Run()
	summary(out, databases, notRun)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return databases, max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return databases, 1, fmt.Errorf("withdb: %w", err)
	}
	return databases, 0, nil
}

// summary writes which databases the command could use, and how many tests didn't run
// because a program is missing.
func summary(out io.Writer, databases []dbtest.Database, notRun string) {
	fmt.Fprintln(out, "\nDatabases of this run:")
	var remedies []string
	for _, db := range databases {
		switch {
		case db.Missing != nil:
			fmt.Fprintf(out, "  %-9s not tested\n", db.Dialect)
			if text := db.Missing.Error(); !slices.Contains(remedies, text) {
				remedies = append(remedies, text)
			}
		case db.Server == "":
			fmt.Fprintf(out, "  %-9s tested\n", db.Dialect)
		default:
			fmt.Fprintf(out, "  %-9s tested: %s\n", db.Dialect, db.Server)
		}
	}
	if names, err := os.ReadFile(notRun); err == nil && len(names) > 0 {
		lines := bytes.Count(names, []byte("\n"))
		first, _, _ := strings.Cut(string(names), "\n")
		fmt.Fprintf(out, "%d tests did not run, because a program that they start isn't on this machine. One is %s.\n", lines, first)
	}
	for _, text := range remedies {
		fmt.Fprintln(out, text)
	}
}
