package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/snowkey-go/snowkey/internal/fleet"
	"github.com/snowkey-go/snowkey/lease"
	"github.com/spf13/cobra"
)

// fleetFlags name the file that gives services ranges of worker numbers, and a service.
type fleetFlags struct{ file, service string }

func (f *fleetFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "fleet", "", "the `file` that gives each service a range of worker numbers, instead of --min-worker and --max-worker")
	cmd.Flags().StringVar(&f.service, "service", "", "the `name` of the service in --fleet")
}

func readFleet(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading the file of the fleet: %w", err)
	}
	return string(text), nil
}

func (a *app) fleetCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use:   "fleet",
		Short: "Check the file that gives each service a range of worker numbers",
		Long: `Fleet is about the file that gives each of several services a range of worker numbers, so that
services with a store each never make the same id. docs/services.md describes
the file.`,
	}, a.fleetCheckCommand())
}

func (a *app) fleetCheckCommand() *cobra.Command {
	var l leases
	var service string
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Check the file, and that a store keeps to it",
		Long: `Check reads the file and fails if a worker number is in two ranges, or in none, or if the
file is wrong in another way. Run it in CI.

With --service, it also reads the store of that service, which it doesn't change. It then
lists each process that holds a worker number outside the range of the service, and each
with another layout than the file has. The exit status is 1 if it finds one.`,
		Example: `  snowkey fleet check fleet.txt
  snowkey fleet check fleet.txt --service orders
  snowkey fleet check fleet.txt --service orders --dir /var/lib/app/snowkey --namespace orders --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{"fleet check takes one file"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if service == "" && (l.dir != "" || a.dsn != "" || a.file != "") {
				return &usageError{"which service has this store? Name it with --service"}
			}
			text, err := readFleet(args[0])
			if err != nil {
				return err
			}
			all, err := fleet.Parse(text)
			if err != nil {
				return err
			}
			if service == "" {
				return a.writeFleet(all)
			}
			own, err := all.Find(service)
			if err != nil {
				return err
			}
			s, end, err := l.open(a)
			if err != nil {
				return err
			}
			defer end()
			findings, err := l.outside(cmd.Context(), s, all, own)
			if err != nil {
				return err
			}
			return a.writeFindings(findings)
		},
	}
	l.register(a, cmd, "", "the `namespace` of the service; by default all")
	cmd.Flags().StringVar(&service, "service", "", "the `name` of the service whose store is checked too")
	return cmd
}

func (a *app) writeFleet(all fleet.Fleet) error {
	value := map[string]any{"layout": all.Layout.String(), "ranges": append([]fleet.Range{}, all.Ranges...)}
	return a.writeTable(value, func(table io.Writer) {
		fmt.Fprint(table, "SERVICE\tFIRST\tLAST\tPROCESSES\n")
		for _, r := range all.Ranges {
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", printable(r.Service), r.First, r.Last, r.Last-r.First+1)
		}
	})
}

// outside returns the processes of a store that could make an id which another service of
// the fleet makes too. The store is that of the service with the range own.
func (l *leases) outside(ctx context.Context, s store, all fleet.Fleet, own fleet.Range) ([]lease.Finding, error) {
	names, err := s.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 || l.namespace != "" && !slices.Contains(names, l.namespace) {
		return nil, fmt.Errorf("namespace %q: %w", cmp.Or(l.namespace, "default"), lease.ErrNoNamespace)
	}
	workers, err := l.workers(ctx, s, false)
	if err != nil {
		return nil, err
	}
	var found []lease.Finding
	for _, w := range workers {
		if w.State != "leased" { // no process renews it
			continue
		}
		who := fmt.Sprintf("%q in namespace %q", w.Label, w.Namespace)
		if w.Layout != all.Layout.String() {
			found = append(found, lease.Finding{Kind: "layout", Text: fmt.Sprintf("%s has the layout %s, and the file has %s", who, w.Layout, all.Layout),
				Remedy: "give all services the same layout; or name a namespace with --namespace, if the ids of the others never meet those of other services"})
		} else if owner, ok := all.Owner(w.Number); !ok || owner != own {
			found = append(found, lease.Finding{Kind: "outside", Text: fmt.Sprintf("%s holds worker number %d of %s, and %s has %v", who, w.Number, nameOfOwner(owner, ok), own.Service, own),
				Remedy: fmt.Sprintf("set Fleet and Service in its Config, and deploy it; or name the right service, if this store is not that of %s", own.Service)})
		}
	}
	return found, nil
}

func nameOfOwner(r fleet.Range, ok bool) string {
	switch {
	case !ok:
		return "no range"
	case r.Spare:
		return fmt.Sprintf("the spare range %v", r)
	}
	return fmt.Sprintf("%s, which has %v", printable(r.Service), r)
}
