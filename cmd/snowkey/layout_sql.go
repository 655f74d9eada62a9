package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/timesql"
)

// sqlFlags are the flags of the layout command that print functions.
type sqlFlags struct {
	dialect string
	files
}

func (f *sqlFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dialect, "sql", "", "print functions for a `database`: "+strings.Join(timesql.Dialects, ", "))
	complete(cmd, "sql", timesql.Dialects...)
	cmd.Flags().StringVar(&f.dir, "files", "", "with --sql, the `folder` to write migration files to")
	cmd.Flags().StringVar(&f.tool, "format", "", "with --files, the `tool` that runs the files: goose, golang-migrate or atlas; by default goose")
}

// layoutSQL prints the functions of a layout, which is the default layout if there's no
// argument.
func (a *app) layoutSQL(f sqlFlags, args []string) error {
	switch {
	case f.dialect == "":
		return &usageError{"--files and --format need --sql, for functions, or are flags of snowkey init and migrate plan"}
	case !slices.Contains(timesql.Dialects, f.dialect):
		return &usageError{fmt.Sprintf("--sql is %q; write one of %s", f.dialect, strings.Join(timesql.Dialects, ", "))}
	case f.dir == "" && f.tool != "":
		return &usageError{"--format needs --files, the folder to write to"}
	}
	l := idgen.DefaultLayout()
	if len(args) > 0 {
		var err error
		if l, err = parseLayout(args[0]); err != nil {
			return err
		}
	}
	create, drop, err := timesql.Statements(l, f.dialect)
	switch {
	case err != nil:
		return err
	case f.dir != "" && drop == nil:
		return &usageError{f.dialect + " has no functions that a migration could create; leave out --files to get queries"}
	}
	f.tool = cmp.Or(f.tool, "goose")
	return a.printSQL(migration{name: "snowkey_functions", up: create, down: drop}, f.files,
		map[string]any{"dialect": f.dialect, "layout": l.String(), "drop": drop}, fmt.Sprintf("-- %s; all times are UTC.\n%s", l, sqlScript(f.dialect, create)))
}

// sqlScript returns statements as a script for the client of a database.
func sqlScript(dialect string, statements []string) string {
	var b strings.Builder
	end := ";"
	if strings.Contains(strings.Join(statements, "\n"), "\nBEGIN\n") && dialect != "postgres" { // Postgres has dollar quotes
		b.WriteString("DELIMITER //\n")
		end = "//"
	}
	for _, s := range statements {
		fmt.Fprintf(&b, "\n%s%s\n", s, end)
	}
	if end != ";" {
		b.WriteString("\nDELIMITER ;\n")
	}
	return b.String()
}
