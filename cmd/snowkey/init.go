package main

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) initCommand() *cobra.Command {
	var role, table, dir, tool string
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
		Args: flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			db, dialect, err := a.openToInit(apply)
			if err != nil {
				return err
			}
			if db != nil {
				defer db.Close()
			}
			if dialect == "sqlite" {
				const reason = "sqlite needs no tables: leases are in a folder beside the file, which a process creates"
				switch {
				case dir != "":
					return &usageError{reason}
				case a.json:
					return writeJSON(a.stdout, map[string]any{"dialect": dialect, "applied": apply, "statements": []string{}})
				}
				_, err := fmt.Fprintln(a.stdout, "-- "+reason)
				return err
			}
			s, err := tableStore(dialect, table, db)
			if err != nil {
				return err
			}
			var grants []string
			if role != "" {
				grants = s.Grants(role)
			}
			statements := append(s.DDL(), grants...)
			if dir != "" {
				if apply {
					return &usageError{"--files and --apply exclude each other"}
				}
				name := cmp.Or(table, "snowkey_lease")
				quote := map[bool]string{true: "`", false: `"`}[dialect == "mysql"]
				drop := func(table string) string {
					return "DROP TABLE " + quote + strings.ReplaceAll(table, ".", quote+"."+quote) + quote
				}
				return a.printFiles([]migration{{name: "snowkey_leases", up: statements, down: []string{drop(name), drop(name + "_ns")}}}, dir, tool)
			}
			if apply {
				if err := s.Migrate(cmd.Context()); err != nil {
					return err
				}
				for _, grant := range grants {
					if _, err := db.ExecContext(cmd.Context(), grant); err != nil {
						return fmt.Errorf("%s: %w", grant, err)
					}
				}
			}
			switch {
			case a.json:
				return writeJSON(a.stdout, map[string]any{"dialect": dialect, "applied": apply, "statements": statements})
			case apply:
				_, err = fmt.Fprintln(a.stdout, "the tables exist")
			default:
				_, err = fmt.Fprintln(a.stdout, strings.Join(statements, ";\n\n")+";")
			}
			return err
		},
	}
	a.source.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&table, "table", "", "the `table` of the leases, if it is not snowkey_lease")
	flags.StringVar(&role, "role", "", "a `role` of Postgres, or a user of MySQL such as app@%, that gets the privileges")
	registerFiles(cmd, &dir, &tool)
	flags.BoolVar(&apply, "apply", false, "execute the statements")
	return cmd
}

// openToInit opens the database. We don't need one just to print the statements, as
// long as the user has named the dialect.
func (a *app) openToInit(apply bool) (*sql.DB, string, error) {
	if !apply {
		switch a.dialect {
		case "postgres", "mysql", "sqlite":
			return nil, a.dialect, nil
		case "mariadb":
			return nil, "mysql", nil
		case "":
		default:
			return nil, "", errDialect
		}
	}
	db, dialect, err := a.openAs(a.getenv, true)
	if errors.Is(err, errNoDSN) && !apply {
		err = errors.New("which kind of database? Write --dialect postgres or mysql, or name the database")
	}
	return db, dialect, err
}
