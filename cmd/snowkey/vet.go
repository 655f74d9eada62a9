package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/vet"
	"github.com/snowkey-go/snowkey/vet/api"
)

func (a *app) vetCommand() *cobra.Command {
	var (
		plan   string
		apis   []string
		hints  bool
		config vet.Config
	)
	cmd := &cobra.Command{
		Use:   "vet [packages]",
		Short: "Find Go code that breaks with generated keys",
		Long: `Vet finds Go code that breaks when its tables leave auto-increment: inserts without a key,
keys in an int32, JSON numbers that JavaScript rounds. It analyses packages as go vet does,
by default ./..., and always the whole program. With --plan, --dsn or --dsn-file it reports
only what concerns the tables of the plan or the database. With --api it reads descriptions
of APIs, JavaScript and TypeScript instead.

The exit status is 1 if something breaks.`,
		Example: `  snowkey vet ./...
  snowkey vet --plan leave.sql --hints
  snowkey vet --api openapi.yaml --api web`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			var findings []vet.Finding
			var err error
			if len(apis) > 0 {
				findings, err = checkAPIs(apis, api.Options{Safe: config.Safe})
			} else {
				if config.Tables, err = a.tables(cmd.Context(), plan); err != nil {
					return err
				}
				findings, err = vet.Run(cmd.Context(), vet.Options{Patterns: args, Config: config})
			}
			if err != nil {
				return err
			}
			return a.printFindings(findings, hints)
		},
	}
	a.source.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&plan, "plan", "", "a `file` of snowkey migrate plan, whose tables are looked at")
	flags.StringArrayVar(&apis, "api", nil, "a `file` of OpenAPI, protobuf, GraphQL, JavaScript or TypeScript, or a folder with some; may be given again")
	flags.BoolVar(&hints, "hints", false, "print hints too: what matters on 32-bit platforms or during the migration only")
	flags.BoolVar(&config.Safe, "jssafe", false, "all ids are below 2^53; by default, if the program calls idgen.JSSafe")
	return cmd
}

func checkAPIs(paths []string, options api.Options) (findings []vet.Finding, err error) {
	for _, path := range paths {
		found, err := api.Check(path, options)
		if err != nil {
			return nil, err
		}
		findings = append(findings, found...)
	}
	return findings, nil
}

// tables returns the tables of a plan, or of the database if one is named by a flag. Without
// either, it returns nil. SNOWKEY_DSN doesn't count, since vet doesn't need a database.
func (a *app) tables(ctx context.Context, plan string) (tables []string, err error) {
	switch {
	case plan != "":
		p, err := readPlan(plan)
		if err != nil {
			return nil, err
		}
		for _, table := range p.Tables {
			tables = append(tables, table.Name)
		}
	case a.dsn == "" && a.file == "":
		return nil, nil
	default:
		err = a.withDB(func(db *sql.DB) error {
			report, err := catalog.Inspect(ctx, db, catalog.Options{})
			for _, k := range report.Keys {
				tables = append(tables, k.Column.Table.Name)
			}
			return err
		})
	}
	return append([]string{}, tables...), err // not nil
}

// printFindings prints findings, and returns an error if one of them breaks something.
func (a *app) printFindings(findings []vet.Finding, hints bool) error {
	count := make(map[string]int)
	for _, f := range findings {
		count[f.Category]++
		if f.Category == vet.Hint && !hints {
			continue
		}
		if a.json {
			if err := writeLine(a.stdout, f); err != nil {
				return err
			}
			continue
		}
		text, remedy, _ := strings.Cut(f.Text, ". ")
		at := f.Position
		at.Filename = relative(at.Filename)
		fmt.Fprintf(a.stdout, "%s: %s: %s [%s]\n  → %s\n    %s\n", at, f.Category, text, f.Rule, remedy, f.URL)
	}
	if !a.json {
		fmt.Fprintf(a.stdout, "%d break, %d to check, %d hints\n", count[vet.Breaks], count[vet.Check], count[vet.Hint])
	}
	if n := count[vet.Breaks]; n > 0 {
		return errors.New("something breaks with generated keys")
	}
	return nil
}

func relative(path string) string {
	if dir, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(short) {
			return short
		}
	}
	return path
}
