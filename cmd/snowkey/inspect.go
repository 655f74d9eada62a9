package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/snowkey-go/snowkey/schema/catalog"
)

const inspectUsage = `usage: snowkey migrate inspect [flags]

Reports every auto-increment key of a database: its type and counter, what holds
and uses it, and what stands in the way of generated keys. Changes nothing.

` + sourceUsage

func inspect(ctx context.Context, sys system, args []string) error {
	flags := flag.NewFlagSet("inspect", flag.ContinueOnError)
	flags.SetOutput(sys.stderr)
	var from source
	from.register(flags)
	asJSON := flags.Bool("json", false, "write JSON")
	var options catalog.Options
	flags.Func("schema", "a `schema` to inspect, exactly as it is called; may be given again", list(&options.Schemas))
	registerChildren(flags, &options)
	if err := parse(flags, inspectUsage, args); err != nil {
		return err
	}
	db, err := from.open(sys.getenv)
	if err != nil {
		return err
	}
	defer db.Close()
	report, err := catalog.Inspect(ctx, db, options)
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(sys.stdout, report)
	}
	return report.WriteText(sys.stdout)
}

// parse parses the arguments of a command that takes flags only.
func parse(flags *flag.FlagSet, usage string, args []string) error {
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return errUsage
	case flags.NArg() > 0:
		// The argument may be a data source name: it is not repeated.
		fmt.Fprintf(flags.Output(), "snowkey migrate %s: takes flags only; name the database by -dsn, -dsn-file or SNOWKEY_DSN, and a plan by -plan\n", flags.Name())
		return errUsage
	}
	return nil
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
