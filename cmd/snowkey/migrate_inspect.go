package main

import (
	"io"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/spf13/cobra"
)

func (a *app) migrateInspectCommand() *cobra.Command {
	var (
		options     catalog.Options
		definitions bool
	)
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Report every auto-increment key, and what is in the way",
		Long: `Inspect reports every auto-increment key of a database: its type and counter, what holds
and uses it, and what is in the way of generated keys. It changes nothing.`,
		Example: `  snowkey migrate inspect
  snowkey migrate inspect --dsn shop.db --json
  snowkey migrate inspect --definitions > routines.sql`,
		Args: flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			db, err := a.open(a.getenv, false)
			if err != nil {
				return err
			}
			defer db.Close()
			report, err := catalog.Inspect(cmd.Context(), db, options)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.stdout, report)
			}
			if definitions {
				for _, k := range report.Keys {
					for _, f := range k.Findings {
						if _, err := io.WriteString(a.stdout, f.Definition); err != nil {
							return err
						}
					}
				}
				return nil
			}
			return report.WriteText(a.stdout)
		},
	}
	a.source.register(cmd)
	cmd.Flags().StringArrayVar(&options.Schemas, "schema", nil, "a `schema` to inspect, exactly as it is called; may be given again")
	cmd.Flags().BoolVar(&definitions, "definitions", false, "print the functions, procedures and triggers that use narrow integers, with bigint instead, for review")
	registerChildren(cmd, &options)
	return cmd
}
