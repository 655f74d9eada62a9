// Snowkey is the command line of the module.
//
//	snowkey migrate inspect    report every auto-increment key of a database
//	snowkey migrate plan       write the SQL that takes it off auto-increment
//	snowkey migrate status     show how far a plan was applied, and what comes next
//	snowkey migrate apply      apply a phase of a plan, or go on with it
//	snowkey migrate undo       reverse what apply did
//	snowkey migrate verify     prove that a plan has done what it should
//
// Package [github.com/snowkey-go/snowkey/schema/autoinc] does the work, and can be
// called from Go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that a second signal ends the program
	status := run(ctx, system{os.Stdin, os.Stdout, os.Stderr, os.Getenv}, os.Args[1:])
	stop()
	os.Exit(status)
}

// A system is what a command has around it.
type system struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

// A command is a word of the command line, which either runs or has commands of
// its own.
type command struct {
	name, help string
	commands   []command
	run        func(ctx context.Context, sys system, args []string) error
}

var root = command{name: "snowkey", commands: []command{
	{name: "migrate", help: "take a database off auto-increment", commands: []command{
		{name: "inspect", help: "report every auto-increment key, and what is in the way", run: inspect},
		{name: "plan", help: "write the SQL that takes it off auto-increment, for review", run: plan},
		{name: "status", help: "show how far a plan was applied, and what comes next", run: status},
		{name: "apply", help: "apply a phase of a plan, or go on with it after a crash", run: apply},
		{name: "undo", help: "reverse what apply did, before the first generated key", run: undo},
		{name: "verify", help: "prove that a plan has done what it should", run: verify},
	}},
}}

// errUsage says that the arguments were wrong, and that the user knows already.
var errUsage = errors.New("wrong arguments")

// run returns the exit status: 0, 1 for a failure, 2 for wrong arguments.
func run(ctx context.Context, sys system, args []string) int {
	switch err := root.dispatch(ctx, sys, root.name, args); {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2
	default:
		fmt.Fprintln(sys.stderr, "snowkey:", err)
		return 1
	}
}

// dispatch finds the command that the arguments name; path is what was named so far.
func (c command) dispatch(ctx context.Context, sys system, path string, args []string) error {
	if c.run != nil {
		return c.run(ctx, sys, args)
	}
	if len(args) > 0 {
		for _, sub := range c.commands {
			if sub.name == args[0] {
				return sub.dispatch(ctx, sys, path+" "+sub.name, args[1:])
			}
		}
		if asked := strings.TrimLeft(args[0], "-"); asked == "help" || asked == "h" {
			c.usage(sys.stdout, path)
			return nil
		}
		fmt.Fprintf(sys.stderr, "%s: there is no command %q\n", path, args[0])
	}
	c.usage(sys.stderr, path)
	return errUsage
}

func (c command) usage(w io.Writer, path string) {
	fmt.Fprintf(w, "usage: %s command [argument ...]\n\n", path)
	for _, sub := range c.commands {
		fmt.Fprintf(w, "  %-10s %s\n", sub.name, sub.help)
	}
	fmt.Fprintf(w, "\n%s command -h says more.\n", path)
}
