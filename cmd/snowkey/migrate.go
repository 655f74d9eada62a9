package main

import (
	"github.com/spf13/cobra"
)

func (a *app) migrateCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use:   "migrate",
		Short: "Take a database off auto-increment",
		Long: `Migrate takes the tables of a database off auto-increment: inspect shows what there is,
plan writes SQL for review, apply runs it phase by phase, and verify proves the result.
docs/leaving-auto-increment.md explains it.`,
	}, a.migrateInspectCommand(), a.planCommand(), a.statusCommand(), a.applyCommand(), a.controlCommand(), a.undoCommand(), a.verifyCommand())
}
