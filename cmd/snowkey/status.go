package main

import (
	"fmt"

	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/spf13/cobra"
)

// A statusJSON is what status --json prints.
type statusJSON struct {
	Complete []autoinc.PhaseName `json:"complete"`
	Next     autoinc.PhaseName   `json:"next,omitempty"` // empty once all phases are complete
	Notes    []string            `json:"notes,omitempty"`
	Steps    int                 `json:"steps"`
	Left     int                 `json:"left"`
}

func (a *app) statusCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "status --plan FILE",
		Short: "Show how far a plan was applied, and what comes next",
		Long: `Status shows how far a plan was applied, which phase comes next, and what has to be done
before it. It changes nothing.`,
		Example: `  snowkey migrate status --plan leave.sql`,
		Args:    flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, db, err := a.planned(path) // sets up the session just as apply does
			if err != nil {
				return err
			}
			defer db.Close()
			next, left, err := look(cmd.Context(), db, p, autoinc.ApplyOptions{})
			if err != nil {
				return err
			}
			s := statusJSON{Complete: []autoinc.PhaseName{}, Next: next.Name, Notes: next.Notes, Steps: len(next.Steps), Left: left}
			for _, phase := range p.Phases {
				if phase.Name == next.Name {
					break
				}
				s.Complete = append(s.Complete, phase.Name)
			}
			if a.json {
				return writeJSON(a.stdout, s)
			}
			for _, name := range s.Complete {
				fmt.Fprintf(a.stdout, "complete: %s\n", name)
			}
			if next.Name == "" {
				fmt.Fprintf(a.stdout, "all %d phases are complete; prove it with snowkey migrate verify\n", len(p.Phases))
				return nil
			}
			announce(a.stdout, p, next)
			fmt.Fprintf(a.stdout, "%d of its %d steps are left\n", left, len(next.Steps))
			return nil
		},
	}
	a.source.register(cmd)
	registerPlan(cmd, &path)
	return cmd
}
