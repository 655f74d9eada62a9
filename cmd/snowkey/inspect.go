package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"

	"github.com/snowkey-go/snowkey/schema/autoinc"
)

const inspectUsage = `usage: snowkey migrate inspect [flags]

Reports every auto-increment key of a database: its type and counter, what holds
and uses it, and what stands in the way of generated keys. Changes nothing.

The database is named by -dsn, by a file (-dsn-file), or by the environment
variable SNOWKEY_DSN, which keeps the password from the process list:

  postgres://user:password@host:5432/shop
  user:password@tcp(host:3306)/shop
  shop.db

`

func inspect(ctx context.Context, sys system, args []string) error {
	flags := flag.NewFlagSet("inspect", flag.ContinueOnError)
	flags.SetOutput(sys.stderr)
	var from source
	flags.StringVar(&from.dsn, "dsn", "", "the data source `name`")
	flags.StringVar(&from.file, "dsn-file", "", "a `file` whose first line is the data source name")
	flags.StringVar(&from.dialect, "dialect", "", "the `kind` of database: postgres, mysql or sqlite; by default what the data source name looks like")
	asJSON := flags.Bool("json", false, "write JSON")
	var options autoinc.Options
	flags.Func("schema", "a `schema` to inspect, exactly as it is called; may be given again", func(name string) error {
		options.Schemas = append(options.Schemas, name)
		return nil
	})
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), inspectUsage)
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return errUsage
	case flags.NArg() > 0:
		// The argument may be a data source name: it is not repeated.
		fmt.Fprintln(sys.stderr, "snowkey migrate inspect: takes flags only; name the database by -dsn, -dsn-file or SNOWKEY_DSN")
		return errUsage
	}
	db, err := from.open(sys.getenv)
	if err != nil {
		return err
	}
	defer db.Close()
	report, err := autoinc.Inspect(ctx, db, options)
	if err != nil {
		return err
	}
	if *asJSON {
		encoder := json.NewEncoder(sys.stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.WriteText(sys.stdout)
}
