package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/internal/sqlgen"
)

func (a *app) sqlCommand() *cobra.Command {
	var layout, role, dialect string
	var f files
	var w sqlgen.Writer
	cmd := &cobra.Command{
		Use:   "sql",
		Short: "Print the SQL of a column default that makes ids",
		Long: `Sql prints a migration that creates the function snowkey_next() for the default of key
columns, so that rows from psql, triggers and other languages get ids. On MySQL and MariaDB, a
trigger has to call it. The ids have a worker number of their own, which the SQL reserves in
the lease tables. It does not connect to a database. docs/sql-default.md explains it.

--namespace, --window and --max-clock-skew must be those of the processes. With --role it
also prints the privileges that a role needs.`,
		Example: `  snowkey sql --dialect postgres
  snowkey sql --dialect postgres --layout jssafe --namespace orders --worker 1000 --role app
  snowkey sql --dialect postgres --files migrations --format golang-migrate
  snowkey sql --dialect mysql
  snowkey sql --dialect mariadb --role app@%`,
		RunE: func(*cobra.Command, []string) error {
			l, err := parseLayout(layout)
			if err != nil {
				return err
			}
			w.Layout = l
			if !slices.Contains(sqlgen.Dialects, dialect) {
				return &usageError{fmt.Sprintf("--dialect is %q; write postgres, mysql or mariadb", dialect)}
			}
			s, err := w.Statements(dialect, role)
			if err != nil {
				return &usageError{err.Error()}
			}
			create := append(s.Create, s.Grant...)
			m := migration{name: cmp.Or(w.Name, "snowkey_next"), up: create, down: s.Drop}
			return a.printSQL(m, f, map[string]any{"dialect": dialect}, strings.TrimPrefix(sqlScript(dialect, create), "\n"))
		},
	}
	registerLayout(cmd, &layout, "default", layoutFlagUsage)
	flags := cmd.Flags()
	flags.StringVar(&dialect, "dialect", "", "postgres, mysql or mariadb")
	flags.StringVar(&w.Namespace, "namespace", "default", "the `namespace` of the processes")
	flags.Int64Var(&w.Worker, "worker", 0, "the worker `number` that is reserved, by default the largest one of the layout")
	flags.StringVar(&w.Schema, "schema", "", "the `schema` of the functions and of the lease tables on postgres, by default public")
	flags.StringVar(&w.Table, "table", "", "the `table` of the leases, if it is not snowkey_lease")
	flags.StringVar(&w.Name, "name", "", "the `name` of the function, if it is not snowkey_next")
	flags.DurationVar(&w.Window, "window", 10*time.Second, "Window of the processes")
	flags.DurationVar(&w.MaxClockSkew, "max-clock-skew", time.Second, "MaxClockSkew of the processes")
	flags.StringVar(&role, "role", "", "a `role` that may make ids")
	f.register(cmd)
	return cmd
}
