package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/spf13/cobra"
)

func (a *app) migrateCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use:   "migrate",
		Short: "Take a database off auto-increment",
		Long: `Migrate takes the tables of a database off auto-increment: inspect shows what there is,
plan writes SQL for review, apply runs it phase by phase, and verify proves the result.
docs/leaving-auto-increment.md explains it.`,
	}, a.migrateInspectCommand(), a.planCommand(), a.rekeyCommand(), a.statusCommand(), a.applyCommand(), a.controlCommand(), a.undoCommand(), a.verifyCommand())
}

// A planned is a plan that was read from a file, and its database.
type planned struct {
	*autoinc.Plan
	path string
	db   *sql.DB
}

// withPlan adds what commands for a plan have in common: the flags for the plan and its
// database, which it opens for run.
func (a *app) withPlan(cmd *cobra.Command, run func(ctx context.Context, p planned, args []string) error) *cobra.Command {
	var path string
	a.source.register(cmd)
	cmd.Flags().StringVar(&path, "plan", "", "the plan's `file`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		plan, err := readPlan(path)
		if err != nil {
			return err
		}
		db, _, err := a.openDB(a.getenv, true)
		if err != nil {
			return err
		}
		defer db.Close()
		return run(cmd.Context(), planned{plan, path, db}, args)
	}
	return cmd
}

// readPlan reads a plan from its file.
func readPlan(path string) (*autoinc.Plan, error) {
	if path == "" {
		return nil, errors.New("which plan? Name the file that snowkey migrate plan has written with --plan")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	defer file.Close()
	return autoinc.ReadPlan(file)
}

func (a *app) migrateInspectCommand() *cobra.Command {
	var options catalog.Options
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Report every auto-increment key, and what is in the way",
		Long: `Inspect reports every auto-increment key of a database: its type and counter, what holds
and uses it, and what is in the way of generated keys. It changes nothing.`,
		Example: `  snowkey migrate inspect
  snowkey migrate inspect --dsn shop.db --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withDB(func(db *sql.DB) error {
				report, err := catalog.Inspect(cmd.Context(), db, options)
				if err != nil {
					return err
				}
				return a.write(a.stdout, report, report.WriteText)
			})
		},
	}
	a.source.register(cmd)
	cmd.Flags().StringArrayVar(&options.Schemas, "schema", nil, "a `schema` to inspect, exactly as it is called; may be given again")
	registerChildren(cmd, &options)
	return cmd
}

func (a *app) verifyCommand() *cobra.Command {
	return a.withPlan(&cobra.Command{
		Use:   "verify --plan FILE",
		Short: "Prove that a plan has done what it should",
		Long: `Verify proves from the catalog and from the data that the keys of a plan have left
auto-increment: they have 64 bits, foreign keys and rows are complete, nothing counts, and
a row without a key is refused, which is tried and rolled back. It reads every table. The
exit status is 1 if a check is refuted.`,
		Example: `  snowkey migrate verify --plan leave.sql`,
	}, func(ctx context.Context, p planned, _ []string) error {
		v, err := autoinc.Verify(ctx, p.db, p.Plan)
		if err != nil {
			return err
		}
		if err := a.write(a.stdout, v, v.WriteText); err != nil {
			return err
		}
		return v.Err()
	})
}

func (a *app) controlCommand() *cobra.Command {
	commands := []string{autoinc.Pause, autoinc.Continue, autoinc.Stop}
	return a.withPlan(&cobra.Command{
		Use:   "control pause|continue|stop --plan FILE",
		Short: "Pause, continue or stop an apply that is running elsewhere",
		Long: `Control tells an apply that is running elsewhere to pause before its next step or batch, to
continue, or to stop. It takes effect after the current statement. After a stop, apply
continues where it was. Continue also lets apply --hold-swap go on.`,
		Example:   `  snowkey migrate control pause --plan leave.sql`,
		ValidArgs: commands,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(commands, args[0]) {
				return &usageError{"write one of pause, continue and stop"}
			}
			return nil
		},
	}, func(ctx context.Context, p planned, args []string) error {
		if err := autoinc.Control(ctx, p.db, p.Plan, args[0]); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "apply will %s after its current statement\n", args[0])
		return nil
	})
}

// A status is what status --json prints.
type status struct {
	Complete []autoinc.PhaseName `json:"complete"`
	Next     autoinc.PhaseName   `json:"next,omitempty"` // empty once all phases are complete
	Notes    []string            `json:"notes,omitempty"`
	Steps    int                 `json:"steps"`
	Left     int                 `json:"left"`
}

func (a *app) statusCommand() *cobra.Command {
	return a.withPlan(&cobra.Command{
		Use:   "status --plan FILE",
		Short: "Show how far a plan was applied, and what comes next",
		Long: `Status shows how far a plan was applied, which phase comes next, and what has to be done
before it. It changes nothing.`,
		Example: `  snowkey migrate status --plan leave.sql`,
	}, func(ctx context.Context, p planned, _ []string) error {
		next, left, err := p.look(ctx, autoinc.ApplyOptions{})
		if err != nil {
			return err
		}
		s := status{Complete: []autoinc.PhaseName{}, Next: next.Name, Notes: next.Notes, Steps: len(next.Steps), Left: left}
		for _, phase := range p.Phases {
			if phase.Name == next.Name {
				break
			}
			s.Complete = append(s.Complete, phase.Name)
		}
		return a.write(a.stdout, s, func(w io.Writer) error {
			for _, name := range s.Complete {
				fmt.Fprintf(w, "complete: %s\n", name)
			}
			if next.Name == "" {
				_, err := fmt.Fprintf(w, "all %d phases are complete; prove it with snowkey migrate verify\n", len(p.Phases))
				return err
			}
			p.announce(w, next)
			_, err := fmt.Fprintf(w, "%d of its %d steps are left\n", left, len(next.Steps))
			return err
		})
	})
}

// look returns the phase that apply would apply next, and how many of its steps are
// left.
func (p planned) look(ctx context.Context, options autoinc.ApplyOptions) (autoinc.Phase, int, error) {
	left := 0
	options.DryRun = true
	options.Progress = func(progress autoinc.Progress) {
		if progress.Event == autoinc.Would {
			left++
		}
	}
	phase, err := autoinc.Apply(ctx, p.db, p.Plan, options)
	return phase, left, err
}

// announce prints what a phase is going to do.
func (p planned) announce(w io.Writer, phase autoinc.Phase) {
	number := slices.IndexFunc(p.Phases, func(other autoinc.Phase) bool { return other.Name == phase.Name }) + 1
	fmt.Fprintf(w, "next is the phase %s, %d of %d:\n", phase.Name, number, len(p.Phases))
	for _, note := range phase.Notes {
		fmt.Fprintln(w, "  "+note)
	}
}
