// Withdb runs a command, having started database servers for its tests, and exits with
// the status of the command:
//
//	go run ./internal/dbtest/withdb [-all] go test ./...
//
// See package dbtest for where the servers come from. They are stopped when the command
// ends.
//
// By default, withdb leaves out databases that aren't available. It also leaves out
// tests that start a server of their own if the programs to run one aren't there. The
// last lines of output say what was tested, and how to add the rest. With -all,
// anything missing is an error.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func main() {
	all := flag.Bool("all", false, "demand every database and every program")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: withdb [-all] command [argument ...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	status, err := run(os.Stdout, *all, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

func run(out io.Writer, all bool, command []string) (status int, err error) {
	env, table, stop, err := dbtest.Environ(all)
	defer stop()
	if err != nil {
		return 1, err
	}
	fmt.Fprintln(out, table)
	if env == nil {
		return 0, nil
	}
	var notRun string
	if !all {
		notRun = filepath.Join(os.TempDir(), fmt.Sprintf("snowkey-not-run-%d", os.Getpid()))
		defer os.Remove(notRun)
		env = append(env, "SNOWKEY_TEST_MISSING="+notRun)
	}
	// We ignore ^C because the command receives it as well. We leave it to the command
	// how to end, and clean up after it.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, os.Stderr
	err = cmd.Run()
	summary(out, table, notRun)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, fmt.Errorf("withdb: %w", err)
	}
	return 0, nil
}

// summary writes which databases the command could use, and how many tests didn't run
// because a program is missing.
func summary(out io.Writer, table, notRun string) {
	fmt.Fprint(out, "\n", table)
	if names, err := os.ReadFile(notRun); err == nil && len(names) > 0 {
		first, _, _ := strings.Cut(string(names), "\n")
		fmt.Fprintf(out, "%d tests did not run, because a program that they start isn't on this machine. One is %s.\n",
			bytes.Count(names, []byte("\n")), first)
	}
}
