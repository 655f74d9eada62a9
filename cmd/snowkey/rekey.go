package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/spf13/cobra"
)

func (a *app) rekeyCommand() *cobra.Command {
	options := autoinc.PlanOptions{Rekey: &autoinc.RekeyOptions{}}
	var out string
	cmd := &cobra.Command{
		Use:   "rekey",
		Short: "Write the SQL that replaces keys, such as UUIDs, by ids with the time of their row",
		Long: `Rekey writes a plan that replaces the values of keys, and of all columns that hold them, by
ids that have the time of their row. Use it to leave UUIDs, and to merge databases whose
keys overlap. The old keys may be integers, UUIDs, text or bytes. Apply, verify and undo
take the plan like any other. Each table gets a permanent table snowkey_map_TABLE with the
old and the new key of each row. docs/services.md explains it.`,
		Example: `  snowkey migrate rekey --except audit --from 2025-01-01 --to 2026-01-01 --child orders.user_id=users.id -o rekey.sql
  snowkey migrate apply --plan rekey.sql --fleet fleet.txt --service orders`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.newPlan(cmd.Context(), options)
			if err != nil {
				return err
			}
			if len(p.Tables) == 0 {
				return errors.New("there is nothing to do: no table that was chosen has a primary key of one column")
			}
			return a.writePlan(p, out)
		},
	}
	a.registerPlan(cmd, &options.Options, &out)
	flags := cmd.Flags()
	flags.Func("table", "a `table` whose keys are replaced, as it is called or as schema.table; may be given again; by default all whose key has one column", adding(&options.Tables, table))
	flags.Func("except", "a `table` that keeps its keys; may be given again", adding(&options.Except, table))
	flags.StringArrayVar(&options.Rekey.Times, "time", nil, "a `column` with the time of a row; the first one that a table has is used; may be given again (default created_at)")
	flags.Func("from", "the `time` of the first row, as in 2020-01-31 or with RFC 3339, for tables without such a column; no id is older", timeFlag("from", &options.Rekey.From))
	flags.Func("to", "the `time` of the last row, for tables without such a column", timeFlag("to", &options.Rekey.To))
	flags.StringVar(&options.Rekey.KeepOld, "keep-old", "", "the `column` that each table gets for its old keys, such as old_id; by default only the map has them")
	flags.BoolVar(&options.Online, "online", false, "fill the new keys beside the old ones while the application runs, on Postgres, MySQL and MariaDB")
	flags.BoolVar(&options.Composite, "composite", false, "plan keys too that count and are one column of a composite primary key")
	return cmd
}

// timeFlag returns a function for a flag, which parses a time or a date.
func timeFlag(name string, to *time.Time) func(string) error {
	return func(text string) (err error) {
		*to, err = parseTime(name, text)
		return err
	}
}

// registerIDs adds the flags for the ids of a plan from rekey.
func (l *leases) registerIDs(cmd *cobra.Command) {
	registerLayout(cmd, &l.layout, "", "for a plan of rekey, "+layoutFlagUsage+"; by default that of the namespace, or else the default layout")
	flags := cmd.Flags()
	flags.StringVar(&l.namespace, "namespace", "default", "for a plan of rekey, the `namespace` of the processes whose ids are in the same tables")
	flags.Int64Var(&l.config.MinWorker, "min-worker", 0, "the MinWorker of these processes")
	flags.Int64Var(&l.config.MaxWorker, "max-worker", 0, "the MaxWorker of these processes (default the largest of the layout)")
	l.fleet.register(cmd)
}

// ids returns the source of ids for one apply. It reserves a worker number in the database
// when the first row needs an id.
func (l *leases) ids(ctx context.Context, p planned) func(table string, times []time.Time) ([]int64, error) {
	var past *idgen.Backfill
	return func(table string, times []time.Time) ([]int64, error) {
		if past == nil {
			dialect := string(p.Dialect)
			if p.Dialect == catalog.MariaDB {
				dialect = "mysql"
			}
			s, err := sqlStore(dialect, "", p.db)
			if err != nil {
				return nil, err
			}
			cfg, err := l.configure(ctx, s)
			if err != nil && !isNew(err) {
				return nil, err
			}
			if past, err = snowkey.OpenBackfill(ctx, s, cfg, fmt.Sprintf("rekey-%d", time.Now().UnixNano())); err != nil {
				return nil, err
			}
		}
		return past.At(table, times)
	}
}
