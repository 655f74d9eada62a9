package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/keeper"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/lease/sqlstore"
	"github.com/spf13/cobra"
)

// A store is a lease store that can list its namespaces.
type store interface {
	lease.Store
	Namespaces(ctx context.Context) ([]string, error)
}

// leases holds the flags that identify a namespace in a store.
type leases struct {
	dir, table, namespace, layout string
	config                        snowkey.Config
	fleet                         fleetFlags
}

func (l *leases) register(a *app, cmd *cobra.Command, namespace, usage string) {
	a.source.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&l.dir, "dir", "", "the `directory` of package filestore, instead of a database")
	flags.StringVar(&l.table, "table", "", "the `table` of the leases, if it is not snowkey_lease")
	flags.StringVar(&l.namespace, "namespace", namespace, usage)
}

// registerConfig adds the flags that must have the same values as in the processes.
func (l *leases) registerConfig(cmd *cobra.Command) {
	registerLayout(cmd, &l.layout, "", layoutFlagUsage+"; by default that of the namespace, if it has only one")
	flags := cmd.Flags()
	flags.DurationVar(&l.config.Window, "window", 10*time.Second, "the Window of the processes")
	flags.DurationVar(&l.config.TTL, "ttl", 0, "the TTL of the processes (default one and a half times --window)")
	flags.DurationVar(&l.config.MaxClockSkew, "max-clock-skew", time.Second, "the MaxClockSkew of the processes")
	flags.Int64Var(&l.config.MinWorker, "min-worker", 0, "the MinWorker of the processes")
	flags.Int64Var(&l.config.MaxWorker, "max-worker", 0, "the MaxWorker of the processes (default the largest of the layout)")
	l.fleet.register(cmd)
}

// open opens the store, and returns a function that closes it again.
func (l *leases) open(a *app) (s store, end func() error, err error) {
	if l.dir != "" {
		if a.dsn != "" || a.file != "" {
			return nil, nil, &usageError{"--dir excludes --dsn and --dsn-file"}
		}
		return filestore.Dir(l.dir, filestore.Mode(0o770)), func() error { return nil }, nil
	}
	db, dialect, err := a.openDB(a.getenv, true)
	if err != nil {
		return nil, nil, err
	}
	tables, err := sqlStore(dialect, l.table, db)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return tables, db.Close, nil
}

// withStore adds what commands for a store have in common: the flags for the store, which it
// opens for run.
func (a *app) withStore(cmd *cobra.Command, l *leases, namespace, usage string, run func(ctx context.Context, s store, args []string) error) *cobra.Command {
	l.register(a, cmd, namespace, usage)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, end, err := l.open(a)
		if err != nil {
			return err
		}
		defer end()
		return run(cmd.Context(), s, args)
	}
	return cmd
}

// sqlStore returns the lease store for a dialect.
func sqlStore(dialect, table string, db *sql.DB) (store, error) {
	if dialect != "sqlite" {
		return tableStore(dialect, table, db)
	}
	if table != "" {
		return nil, &usageError{"sqlite keeps leases in a folder beside the file, not in a table; leave out --table"}
	}
	return sqlstore.SQLite(db), nil
}

// tableStore is sqlStore for the dialects whose leases are in tables.
func tableStore(dialect, table string, db *sql.DB) (*sqlstore.Store, error) {
	s := sqlstore.MySQL(db)
	if dialect == "postgres" {
		s = sqlstore.Postgres(db)
	}
	if table == "" {
		return s, nil
	}
	return s.WithTable(table)
}

// configure returns the configuration that the namespace's processes should have.
func (l *leases) configure(ctx context.Context, s store) (snowkey.Config, error) {
	cfg := l.config
	cfg.Namespace = l.namespace
	named := l.fleet.file != ""
	if named != (l.fleet.service != "") {
		return cfg, &usageError{"--fleet and --service need each other"}
	}
	if !named || l.layout != "" {
		var err error
		if cfg.Layout, err = l.layoutOf(ctx, s); err != nil || !named {
			return cfg, err
		}
	}
	file, err := readFleet(l.fleet.file)
	if err != nil {
		return cfg, err
	}
	return cfg.ForService(file, l.fleet.service)
}

// isNew reports whether an error of configure means that no process has leased a worker number
// of the namespace. The configuration is valid then too, with the default layout.
func isNew(err error) bool {
	return errors.Is(err, lease.ErrNoNamespace) || errors.Is(err, lease.ErrNotMigrated)
}

// layoutOf returns the layout that the user has named. If none was named, the namespace
// must have exactly one layout.
func (l *leases) layoutOf(ctx context.Context, s store) (idgen.Layout, error) {
	if l.layout != "" {
		return parseLayout(l.layout)
	}
	stored, _, err := s.Layouts(ctx, l.namespace)
	switch {
	case err != nil:
		return idgen.Layout{}, err
	case len(stored) == 0:
		return idgen.Layout{}, fmt.Errorf("namespace %q: %w", l.namespace, lease.ErrNoNamespace)
	case len(stored) > 1:
		return idgen.Layout{}, &usageError{fmt.Sprintf("the namespace %q has %d layouts; choose one with --layout:\n  %s", l.namespace, len(stored), strings.Join(stored, "\n  "))}
	}
	return idgen.ParseLayout(stored[0])
}

func (a *app) workersCommand() *cobra.Command {
	var l leases
	var free bool
	cmd := a.withStore(&cobra.Command{
		Use:   "workers",
		Short: "Show which process has which worker number",
		Long: `Workers lists the worker numbers that are leased: namespace, number, state, the time of
the claim by the clock of the holder's host, the time until the lease expires unless it is
renewed, and the label of the process. A lease that has expired is free for others after
MaxClockSkew.`,
		Example: `  snowkey workers
  snowkey workers --namespace orders --json
  snowkey workers --dir /var/lib/app/snowkey --all`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{"workers takes only flags, or the command free"}
			}
			return nil
		},
	}, &l, "", "the `namespace`; by default all", func(ctx context.Context, s store, _ []string) error {
		all, err := l.workers(ctx, s, free)
		if err != nil {
			return err
		}
		return a.writeWorkers(all)
	})
	cmd.Flags().BoolVar(&free, "all", false, "list free worker numbers too")
	cmd.AddCommand(a.freeCommand())
	return cmd
}

func (l *leases) workers(ctx context.Context, s store, free bool) ([]keeper.Worker, error) {
	namespaces := []string{l.namespace}
	if l.namespace == "" {
		var err error
		if namespaces, err = s.Namespaces(ctx); err != nil {
			return nil, err
		}
	}
	all := []keeper.Worker{}
	for _, name := range namespaces {
		some, err := keeper.Workers(ctx, s, name, free)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (a *app) writeWorkers(all []keeper.Worker) error {
	layouts := make(map[string]bool)
	for _, w := range all {
		layouts[w.Layout] = true
	}
	return a.writeTable(all, func(table io.Writer) {
		if len(all) == 0 {
			fmt.Fprintln(table, "no worker number is leased")
			return
		}
		fmt.Fprintf(table, "NAMESPACE\tWORKER\tSTATE\tSINCE\tEXPIRES\tLABEL%s\n", when(len(layouts) > 1, "\tLAYOUT"))
		for _, w := range all {
			fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s%s\n", printable(w.Namespace), w.Number, w.State, at(w.Since, time.RFC3339), at(w.Expires, milliseconds),
				printable(w.Label), when(len(layouts) > 1, "\t"+w.Layout))
		}
	})
}

func when(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

func at(t *time.Time, format string) string {
	if t == nil {
		return "-"
	}
	return t.Format(format)
}

// printable quotes a text if it contains anything unusual. We can't trust these texts
// because they come from other processes, and are about to be printed on a terminal.
func printable(text string) string {
	quoted := strconv.Quote(text)
	if text == "" || quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

func (a *app) freeCommand() *cobra.Command {
	var l leases
	var yes bool
	var number int64
	cmd := a.withStore(&cobra.Command{
		Use:   "free N",
		Short: "End the lease of a worker number",
		Long: `Free ends the lease of a worker number, for instance of a machine that is gone, so that the
next process need not wait until it expires. No id repeats: the next holder begins above all ids
that were granted. A process that still runs loses its lease at its next renewal, and
claims another number.`,
		Example: `  snowkey workers free 3 --yes`,
		Args: func(_ *cobra.Command, args []string) (err error) {
			if len(args) == 1 {
				number, err = strconv.ParseInt(args[0], 10, 64)
			}
			if len(args) != 1 || err != nil || number < 0 {
				return &usageError{"free takes one worker number, such as 3; snowkey workers lists them"}
			}
			return nil
		},
	}, &l, "default", "the `namespace`", func(ctx context.Context, s store, _ []string) error {
		layout, err := l.layoutOf(ctx, s)
		if err != nil {
			return err
		}
		question := fmt.Sprintf("end the lease of worker %d in the namespace %q?", number, l.namespace)
		if err := a.confirm(yes, question, "a process that holds this worker number loses its lease"); err != nil {
			return err
		}
		w, err := keeper.FreeWorker(ctx, s, l.namespace, layout.String(), number)
		if err != nil {
			return err
		}
		return a.print(w, "worker %d is free; it was %s by %s\n", number, w.State, printable(w.Label))
	})
	registerLayout(cmd, &l.layout, "", layoutFlagUsage+"; by default that of the namespace, if it has only one")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) doctorCommand() *cobra.Command {
	var l leases
	cmd := a.withStore(&cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong with the leases of a namespace and with its store",
		Long: `Doctor looks for rows of a namespace, and for settings of its database, that look wrong, and
says what to do. It changes nothing. Give it the settings of the processes. The exit
status is 1 if it finds something.`,
		Example: `  snowkey doctor
  snowkey doctor --namespace orders --window 30s`,
	}, &l, "default", "the `namespace`", func(ctx context.Context, s store, _ []string) error {
		cfg, err := l.configure(ctx, s)
		if err != nil {
			return err
		}
		findings, err := snowkey.Doctor(ctx, s, cfg)
		if err != nil {
			return err
		}
		return a.writeFindings(findings)
	})
	l.registerConfig(cmd)
	return cmd
}

// writeFindings writes findings, and returns an error if there are any.
func (a *app) writeFindings(findings []lease.Finding) error {
	var text strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&text, "%s: %s\n  → %s\n", f.Kind, f.Text, f.Remedy)
	}
	err := a.print(append([]lease.Finding{}, findings...), "%s", cmp.Or(text.String(), "nothing looks wrong\n"))
	if err == nil && len(findings) > 0 {
		err = fmt.Errorf("%d findings", len(findings))
	}
	return err
}

func (a *app) fenceCommand() *cobra.Command {
	var l leases
	var yes bool
	cmd := a.withStore(&cobra.Command{
		Use:   "fence",
		Short: "Make new leases start above all ids that may have been lost",
		Long: `Fence makes all leases that are claimed from now on start above every id that may have been
issued before. Call it after a restore that the database does not show, such as a snapshot
of a disk, before processes start again. docs/leases.md lists these restores. Ids then
start up to --window and twice --max-clock-skew ahead of the clock. Give it the settings of
the processes.`,
		Example: `  snowkey fence --yes
  snowkey fence --namespace orders --yes`,
	}, &l, "default", "the `namespace`", func(ctx context.Context, s store, _ []string) error {
		cfg, err := l.configure(ctx, s)
		if err != nil {
			return err
		}
		if err := a.confirm(yes, fmt.Sprintf("raise the fence of the namespace %q?", l.namespace), "a fence cannot be taken back"); err != nil {
			return err
		}
		if err := snowkey.Fence(ctx, s, cfg); err != nil {
			return err
		}
		return a.print(map[string]string{"fenced": l.namespace}, "the namespace %q is fenced; leases that are claimed from now on start above every earlier id\n", l.namespace)
	})
	l.registerConfig(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}
