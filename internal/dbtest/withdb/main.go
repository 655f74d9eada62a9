// Withdb runs a command with database servers for its tests, and ends with the
// command's status:
//
//	go run ./internal/dbtest/withdb go test ./...
//
// Package dbtest says where the servers come from. They end with the command.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: withdb command [argument ...]")
		os.Exit(2)
	}
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

func run(command []string) (status int, err error) {
	env, versions, stop, err := dbtest.Environ()
	defer stop()
	if err != nil {
		return 1, err
	}
	for _, version := range versions {
		fmt.Println("withdb:", version)
	}
	// ^C reaches the command as well. It decides how to end, and we clean up after it.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, fmt.Errorf("withdb: %w", err)
	}
	return 0, nil
}
