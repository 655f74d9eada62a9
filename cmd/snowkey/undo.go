package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/snowkey-go/snowkey/schema/autoinc"
)

const undoUsage = `usage: snowkey migrate undo -plan file [flags]

Reverses what apply did, the last step first. With -phase it reverses that
phase and those after it. Call it again after a crash. It changes nothing if a
table has a generated key.

` + sourceUsage

func undo(ctx context.Context, sys system, args []string) error {
	flags := flag.NewFlagSet("undo", flag.ContinueOnError)
	flags.SetOutput(sys.stderr)
	from := source{write: true}
	from.register(flags)
	var options autoinc.ApplyOptions
	path := flags.String("plan", "", "the plan's `file`")
	flags.StringVar((*string)(&options.Phase), "phase", "", "the first `phase` to reverse; by default widen, so that all are")
	flags.DurationVar(&options.LockTimeout, "lock-timeout", 0, lockTimeoutUsage)
	flags.BoolVar(&options.DryRun, "dry-run", false, "print the statements and run none")
	if err := parse(flags, undoUsage, args); err != nil {
		return err
	}
	p, err := readPlan(*path)
	if err != nil {
		return err
	}
	db, err := from.open(sys.getenv)
	if err != nil {
		return err
	}
	defer db.Close()
	steps := 0
	options.Progress = func(progress autoinc.Progress) {
		s := progress.Step
		switch progress.Event {
		case autoinc.Began:
			fmt.Fprintf(sys.stdout, "%-12s reversed: %s\n", s.ID, s.Text)
			steps++
		case autoinc.Would:
			for _, sql := range s.Undo {
				fmt.Fprintf(sys.stdout, "%-12s %s;\n", s.ID, sql)
			}
		case autoinc.Retried:
			fmt.Fprintf(sys.stdout, "%-12s waiting, to try again: %v\n", s.ID, progress.Err)
		}
	}
	switch err := autoinc.Undo(ctx, db, p, options); {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped, and the progress is kept; to continue, call: snowkey migrate undo -plan %s\n%w", *path, err)
	case err != nil:
		return err
	case options.DryRun:
		fmt.Fprintln(sys.stdout, "nothing was reversed: this was a dry run")
	case steps == 0:
		fmt.Fprintln(sys.stdout, "there was nothing to reverse")
	default:
		fmt.Fprintln(sys.stdout, "the plan was reversed")
	}
	return nil
}
