package main

import (
	"context"
	"flag"

	"github.com/snowkey-go/snowkey/schema/autoinc"
)

const verifyUsage = `usage: snowkey migrate verify -plan file [flags]

Proves from the catalog and from the data that the keys of a plan have left
auto-increment: 64 bits, foreign keys and rows intact, no counter, and a row
without a key is refused, which is tried and rolled back. Reads every table.
Ends with status 1 if anything is refuted.

` + sourceUsage

func verify(ctx context.Context, sys system, args []string) error {
	flags := flag.NewFlagSet("verify", flag.ContinueOnError)
	flags.SetOutput(sys.stderr)
	from := source{write: true}
	from.register(flags)
	path := flags.String("plan", "", "the plan's `file`")
	asJSON := flags.Bool("json", false, "write JSON")
	if err := parse(flags, verifyUsage, args); err != nil {
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
	v, err := autoinc.Verify(ctx, db, p)
	if err != nil {
		return err
	}
	if *asJSON {
		err = writeJSON(sys.stdout, v)
	} else {
		err = v.WriteText(sys.stdout)
	}
	if err != nil {
		return err
	}
	return v.Err()
}
