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
	"flag"
	"fmt"
	"os"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func main() {
	all := flag.Bool("all", false, "demand every database and every program")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: withdb [-all] command [argument ...]")
		os.Exit(2)
	}
	status, err := dbtest.Run(os.Stdout, *all, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}
