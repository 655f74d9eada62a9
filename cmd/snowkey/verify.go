package main

import (
	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/spf13/cobra"
)

func (a *app) verifyCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "verify --plan FILE",
		Short: "Prove that a plan has done what it should",
		Long: `Verify proves from the catalog and from the data that the keys of a plan have left
auto-increment: they have 64 bits, foreign keys and rows are complete, nothing counts, and
a row without a key is refused, which is tried and rolled back. It reads every table. The
exit status is 1 if a check is refuted.`,
		Example: `  snowkey migrate verify --plan leave.sql`,
		Args:    flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, db, err := a.planned(path)
			if err != nil {
				return err
			}
			defer db.Close()
			v, err := autoinc.Verify(cmd.Context(), db, p)
			if err != nil {
				return err
			}
			if a.json {
				err = writeJSON(a.stdout, v)
			} else {
				err = v.WriteText(a.stdout)
			}
			if err != nil {
				return err
			}
			return v.Err()
		},
	}
	a.source.register(cmd)
	registerPlan(cmd, &path)
	return cmd
}
