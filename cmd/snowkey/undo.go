package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/spf13/cobra"
)

func (a *app) undoCommand() *cobra.Command {
	var path string
	var options autoinc.ApplyOptions
	cmd := &cobra.Command{
		Use:   "undo --plan FILE",
		Short: "Reverse what apply did, before the first generated key",
		Long: `Undo reverses what apply did, the last step first. With --phase it reverses that phase and
those after it. Call it again after a crash. It changes nothing if a table has a generated
key, or a row that the old columns and foreign keys could not hold. If it has begun and
cannot be completed, --cancel takes it back, and apply continues.`,
		Example: `  snowkey migrate undo --plan leave.sql --dry-run
  snowkey migrate undo --plan leave.sql --cancel`,
		Args: flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, db, err := a.planned(path)
			if err != nil {
				return err
			}
			defer db.Close()
			return a.undo(cmd.Context(), db, p, path, options)
		},
	}
	a.source.register(cmd)
	registerPlan(cmd, &path)
	registerPhase(cmd, &options.Phase, "the first `phase` to reverse; by default widen, so that all are")
	cmd.Flags().DurationVar(&options.LockTimeout, "lock-timeout", 0, lockTimeoutUsage)
	cmd.Flags().BoolVar(&options.CancelUndo, "cancel", false, "take back an undo that has begun, so that apply can continue")
	cmd.Flags().BoolVar(&options.DryRun, "dry-run", false, "print the statements and run none")
	return cmd
}

func (a *app) undo(ctx context.Context, db *sql.DB, p *autoinc.Plan, path string, options autoinc.ApplyOptions) error {
	steps := 0
	options.Progress = func(progress autoinc.Progress) {
		s := progress.Step
		if progress.Event == autoinc.Began {
			steps++
		}
		if a.json {
			e := eventOf(progress)
			if e.SQL != nil {
				e.SQL = s.Undo
			}
			_ = writeLine(a.stdout, e) // keep going even if the reader is gone
			return
		}
		switch progress.Event {
		case autoinc.Began:
			fmt.Fprintf(a.stdout, "%-12s reversed: %s\n", s.ID, s.Text)
		case autoinc.Would:
			for _, sql := range s.Undo {
				fmt.Fprintf(a.stdout, "%-12s %s;\n", s.ID, sql)
			}
		case autoinc.Retried:
			fmt.Fprintf(a.stdout, "%-12s waiting, to try again: %v\n", s.ID, progress.Err)
		}
	}
	switch err := autoinc.Undo(ctx, db, p, options); {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped, and the progress is kept; to continue, call: snowkey migrate undo --plan %s\n%w", path, err)
	case err != nil:
		return err
	case a.json:
		return writeLine(a.stdout, map[string]any{"event": "end", "steps": steps, "dryRun": options.DryRun})
	case options.CancelUndo:
		fmt.Fprintln(a.stdout, "no undo is going on; snowkey migrate apply continues")
	case options.DryRun:
		fmt.Fprintln(a.stdout, "nothing was reversed: this was a dry run")
	case steps == 0:
		fmt.Fprintln(a.stdout, "there was nothing to reverse")
	default:
		fmt.Fprintln(a.stdout, "the plan was reversed")
	}
	return nil
}
