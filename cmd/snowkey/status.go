package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/snowkey-go/snowkey/schema/autoinc"
)

const statusUsage = `usage: snowkey migrate status -plan file [flags]

Shows how far a plan was applied, which phase comes next, and what has to be done
before it. Changes nothing.

` + sourceUsage

func status(ctx context.Context, sys system, args []string) error {
	flags := flag.NewFlagSet("status", flag.ContinueOnError)
	flags.SetOutput(sys.stderr)
	from := source{write: true} // the session is set up as for apply
	from.register(flags)
	path := flags.String("plan", "", "the plan's `file`")
	if err := parse(flags, statusUsage, args); err != nil {
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
	next, left, err := look(ctx, db, p, autoinc.ApplyOptions{})
	if err != nil {
		return err
	}
	for _, phase := range p.Phases {
		if phase.Name == next.Name {
			break
		}
		fmt.Fprintf(sys.stdout, "complete: %s\n", phase.Name)
	}
	if next.Name == "" {
		fmt.Fprintf(sys.stdout, "all %d phases are complete; prove it with snowkey migrate verify\n", len(p.Phases))
		return nil
	}
	announce(sys, p, next)
	fmt.Fprintf(sys.stdout, "%d of its %d steps are left\n", left, len(next.Steps))
	return nil
}
