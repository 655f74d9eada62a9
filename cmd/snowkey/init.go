package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

func (a *app) initCommand() *cobra.Command {
	var role, table string
	var f files
	var apply bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Print or apply the SQL that creates the tables of leases",
		Long: `Init prints the SQL that creates the two tables of leases, for a migration of your own; set
SkipMigrate in the processes then. With --role it also prints the privileges that the
processes need. With --apply it executes the statements, and with --files it writes them as
a migration for goose, golang-migrate or Atlas. Unless it executes them, --dialect is
enough; it does not connect.`,
		Example: `  snowkey init --dialect postgres --role app
  snowkey init --dsn-file dsn.txt --apply
  snowkey init --dialect mysql --role app@% --files migrations --format golang-migrate`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.initialize(cmd.Context(), role, table, f, apply) },
	}
	a.source.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&table, "table", "", "the `table` of the leases, if it is not snowkey_lease")
	flags.StringVar(&role, "role", "", "a `role` of Postgres, or a user of MySQL such as app@%, that gets the privileges")
	f.register(cmd)
	flags.BoolVar(&apply, "apply", false, "execute the statements")
	return cmd
}

func (a *app) initialize(ctx context.Context, role, table string, f files, apply bool) error {
	// Without --apply, the dialect is enough to print the statements.
	dialect := strings.Replace(a.dialect, "mariadb", "mysql", 1)
	var db *sql.DB
	if apply || dialect == "" {
		var err error
		db, dialect, err = a.openDB(a.getenv, true)
		if errors.Is(err, errNoDSN) && !apply {
			err = errors.New("which kind of database? Write --dialect postgres or mysql, or name the database")
		}
		if err != nil {
			return err
		}
		defer db.Close()
	} else if !slices.Contains([]string{"postgres", "mysql", "sqlite"}, dialect) {
		return errDialect
	}
	object := map[string]any{"dialect": dialect, "applied": apply}
	if dialect == "sqlite" {
		const reason = "sqlite needs no tables: leases are in a folder beside the file, which a process creates"
		if f.dir != "" {
			return &usageError{reason}
		}
		return a.printSQL(migration{up: []string{}}, files{}, object, "-- "+reason+"\n")
	}
	s, err := tableStore(dialect, table, db)
	if err != nil {
		return err
	}
	var grants []string
	if role != "" {
		grants = s.Grants(role)
	}
	name, quoted := cmp.Or(table, "snowkey_lease"), sqldialect.Dialect(dialect).Table
	m := migration{name: "snowkey_leases", up: append(s.DDL(), grants...), down: []string{"DROP TABLE " + quoted(name), "DROP TABLE " + quoted(name+"_ns")}}
	text := strings.Join(m.up, ";\n\n") + ";\n"
	if apply {
		if f.dir != "" {
			return &usageError{"--files and --apply exclude each other"}
		}
		if err := s.Migrate(ctx); err != nil {
			return err
		}
		for _, grant := range grants {
			if _, err := db.ExecContext(ctx, grant); err != nil {
				return fmt.Errorf("%s: %w", grant, err)
			}
		}
		text = "the tables exist\n"
	}
	return a.printSQL(m, f, object, text)
}
