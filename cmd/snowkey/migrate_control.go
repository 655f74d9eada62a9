package main

import (
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/spf13/cobra"
)

func (a *app) controlCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "control pause|continue|stop --plan FILE",
		Short: "Pause, continue or stop an apply that is running elsewhere",
		Long: `Control tells an apply that is running elsewhere to pause before its next step or batch, to
continue, or to stop. It takes effect after the current statement. After a stop, apply
continues where it was. Continue also lets apply --hold-swap go on.`,
		Example:   `  snowkey migrate control pause --plan leave.sql`,
		ValidArgs: []string{autoinc.Pause, autoinc.Continue, autoinc.Stop},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(cmd.ValidArgs, args[0]) {
				return &usageError{"write one of pause, continue and stop"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p, db, err := a.planned(path)
			if err != nil {
				return err
			}
			defer db.Close()
			if err := autoinc.Control(cmd.Context(), db, p, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "apply will %s after its current statement\n", args[0])
			return nil
		},
	}
	a.source.register(cmd)
	registerPlan(cmd, &path)
	return cmd
}
