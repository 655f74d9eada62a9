package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/spf13/cobra"
)

func (a *app) planCommand() *cobra.Command {
	var options autoinc.PlanOptions
	var out, html string
	var f files
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Write the SQL that takes a database off auto-increment, for review",
		Long: `Plan writes the SQL that takes a database off auto-increment, in phases, as a file for
review: what each statement locks, what it rewrites, and how to undo it. It changes
nothing. It refuses what would lose data, with the reason.`,
		Example: `  snowkey migrate plan -o leave.sql
  snowkey migrate plan --online --except audit --child orders.user_id=users.id
  snowkey migrate plan --files migrations --format goose`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.newPlan(cmd.Context(), options)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(p.Phases, func(phase autoinc.Phase) bool { return len(phase.Steps) > 0 }) {
				return errors.New("there is nothing to do: no table that was chosen has an auto-increment key; snowkey migrate inspect shows those that have")
			}
			if html != "" {
				if err := writeNew(html, p.WriteHTML); err != nil {
					return err
				}
			}
			if f.dir != "" {
				migrations, err := asMigrations(p)
				if err != nil {
					return err
				}
				return a.printFiles(migrations, f)
			}
			return a.writePlan(p, out)
		},
	}
	a.registerPlan(cmd, &options.Options, &out)
	flags := cmd.Flags()
	flags.Func("table", "a `table` to plan, as it is called or as schema.table; may be given again; by default all", adding(&options.Tables, table))
	flags.Func("except", "a `table` that goes on counting; may be given again", adding(&options.Except, table))
	flags.BoolVar(&options.Online, "online", false, "widen while tables are read and written, on Postgres, MySQL and MariaDB; it takes longer, and needs space for a second copy")
	flags.BoolVar(&options.Composite, "composite", false, "plan keys too that are one column of a composite primary key, or unique without being the primary key")
	flags.Int64Var(&options.Floor, "floor", autoinc.DefaultFloor, "the least `key` that may be sent at the end: above all that were counted, below all that are generated")
	flags.StringVar(&options.Default, "default", "", "a `function` of Postgres that generates the keys of rows without one, such as snowkey_next(); writers need no change")
	f.register(cmd)
	flags.StringVar(&html, "html", "", "a `file` to write the plan's first page to as HTML, as for a change request")
	return cmd
}

// registerPlan adds the flags of all commands that write a plan.
func (a *app) registerPlan(cmd *cobra.Command, options *catalog.Options, out *string) {
	a.source.register(cmd)
	registerChildren(cmd, options)
	cmd.Flags().StringArrayVar(&options.Schemas, "schema", nil, "a `schema` to plan, exactly as it is called; may be given again")
	cmd.Flags().StringVarP(out, "out", "o", "", "the `file` to write, which must not exist; by default to the standard output")
}

// newPlan makes a plan for the database that the flags name.
func (a *app) newPlan(ctx context.Context, options autoinc.PlanOptions) (p *autoinc.Plan, err error) {
	err = a.withDB(func(db *sql.DB) error { p, err = autoinc.NewPlan(ctx, db, options); return err })
	return p, err
}

// writePlan writes a plan to a new file, or to the standard output.
func (a *app) writePlan(p *autoinc.Plan, out string) error {
	if out == "" {
		return a.write(a.stdout, p, p.WriteText)
	}
	return writeNew(out, func(w io.Writer) error { return a.write(w, p, p.WriteText) })
}

// adding returns a function for a flag that may be given again, which parses a value and adds it
// to all.
func adding[T any](all *[]T, parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		value, err := parse(text)
		*all = append(*all, value)
		return err
	}
}

func table(name string) (catalog.Name, error) { return catalog.Name{Name: name}, nil }

// writeNew writes a file, which must not exist yet.
func writeNew(path string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	if err := createFile(path, text.String()); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	return nil
}

// registerChildren adds the flags for columns that don't have a foreign key.
func registerChildren(cmd *cobra.Command, options *catalog.Options) {
	flags := cmd.Flags()
	addChild := adding(&options.Children, foreignKey)
	flags.Func("child", "`column=key` names a column that holds a key without a foreign key, such as orders.user_id=users.id, or only the column if it holds keys of several tables (for rekey, items.owner_id=users.id,owner_type=User for each type); the word likely stands for all that inspect reports; may be given again", func(value string) error {
		if value == "likely" {
			options.LikelyChildren = true
			return nil
		}
		return addChild(value)
	})
	flags.Func("not-child", "a `column` that looks as if it held a key and does not, such as orders.batch_id; may be given again", adding(&options.NotChildren, column))
}

// foreignKey parses text of the form column, column=key or column=key,type=value.
func foreignKey(text string) (fk catalog.ForeignKey, err error) {
	child, parent, ok := strings.Cut(text, "=")
	parent, kind, typed := strings.Cut(parent, ",")
	fk.Child, err = column(child)
	if ok && err == nil {
		fk.Parent, err = column(parent)
	}
	fk.TypeColumn, fk.TypeValue, ok = strings.Cut(kind, "=")
	if err != nil || typed != ok {
		return fk, errors.New("write table.column=table.column, the child first, such as orders.user_id=users.id, or for rows of a type items.owner_id=users.id,owner_type=User")
	}
	return fk, nil
}

// column parses table.column or schema.table.column.
func column(text string) (catalog.Column, error) {
	parts := strings.Split(text, ".")
	if len(parts) == 2 {
		parts = append([]string{""}, parts...)
	}
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return catalog.Column{}, errors.New("write table.column or schema.table.column")
	}
	return catalog.Column{Table: catalog.Name{Schema: parts[0], Name: parts[1]}, Name: parts[2]}, nil
}
