package dbtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// Run starts a server for each database of the run, and runs a command whose tests find
// these servers through environment variables ("SNOWKEY_TEST_POSTGRES=…"). It returns the
// status of the command. A table before and after the output of the command says where the
// servers came from, and how to add those that are missing.
//
// Databases and programs that aren't available are normally left out. However, if all is
// true or SNOWKEY_TEST_DB lists the databases, Run returns an error instead, which names
// each database without a server. A version that can't be fetched may be left out even if
// SNOWKEY_TEST_DB lists it.
func Run(out io.Writer, all bool, command []string) (status int, err error) {
	names, err := wanted()
	if err != nil {
		return 1, err
	}
	var have, env, remedies []string
	var table strings.Builder
	table.WriteString("Databases of this run:\n")
	for _, name := range names {
		dialect, result := dialectOf(name), "tested"
		if slices.Contains(services, name) { // each test starts its own
			have = append(have, name)
			continue
		}
		if name != "sqlite" {
			s, problem := start(dialect)
			if problem != nil {
				fmt.Fprintf(&table, "  %-9s not tested\n", dialect)
				remedies = append(remedies, problem.Error()+"\n")
				_, absent := errors.AsType[*absentError](problem)
				if !absent || all || os.Getenv("SNOWKEY_TEST_DB") != "" && name == dialect {
					err = errors.Join(err, problem)
				}
				continue
			}
			defer s.stop()
			env = append(env, s.engine.env+"="+s.admin.DSN)
			result = fmt.Sprint("tested: ", s)
		}
		have = append(have, name)
		fmt.Fprintf(&table, "  %-9s %s\n", dialect, result)
	}
	if err != nil {
		return 1, err
	}
	table.WriteString(strings.Join(remedies, ""))
	fmt.Fprintln(out, table.String())
	if len(have) == 0 { // with an empty list of databases, the tests would use all of them
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
	cmd.Env = slices.Concat(os.Environ(), env, []string{"SNOWKEY_TEST_DB=" + strings.Join(have, ",")})
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, os.Stderr
	err = cmd.Run()
	fmt.Fprint(out, "\n", table.String())
	if names, err := os.ReadFile(notRun); err == nil && len(names) > 0 {
		first, _, _ := strings.Cut(string(names), "\n")
		fmt.Fprintf(out, "%d tests did not run, because a program that they start isn't on this machine. One is %s.\n",
			bytes.Count(names, []byte("\n")), first)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, fmt.Errorf("withdb: %w", err)
	}
	return 0, nil
}
