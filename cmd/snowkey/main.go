// Snowkey is the command line of the module. It decodes ids and draws layouts, shows
// and frees the worker numbers leased by processes, creates the tables for leases, and
// takes databases off auto-increment. Run "snowkey help" for a list of the commands.
//
// # Databases
//
// Use --dsn to name the database. To keep the password out of the process list, put the
// data source name into a file and use --dsn-file, or set the environment variable
// SNOWKEY_DSN instead. No command ever prints a password.
//
// # Exit status
//
// The exit status is 0 on success, 1 if the command failed or found something wrong,
// and 2 if the arguments are wrong.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // restores the default, so a second signal ends the program
	status := run(ctx, system{os.Stdin, os.Stdout, os.Stderr, os.Getenv}, os.Args[1:])
	stop()
	os.Exit(status)
}

// A system is the environment that the program runs in. It's replaced in tests.
type system struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

// An app is one invocation of the program, with the flags that all commands share.
type app struct {
	system
	source
	json bool
}

// A usageError reports that the arguments are wrong.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// run executes a command and returns the exit status.
func run(ctx context.Context, sys system, args []string) int {
	a := &app{system: sys}
	root := a.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(sys.stderr, "snowkey:", err)
	if _, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(sys.stderr, "%s --help says more.\n", cmd.CommandPath())
		return 2
	}
	return 1
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "snowkey",
		Short: "Look at ids, leases and databases",
		Long: `Snowkey decodes ids, shows who leases worker numbers, and takes databases off
auto-increment.

The exit status is 0, 1 if the command failed or found something wrong, or 2 if the
arguments are wrong.`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if name := singleDash.FindStringSubmatch(err.Error()); name != nil {
			return &usageError{fmt.Sprintf("flags have two dashes; write --%s", name[1])}
		}
		return &usageError{err.Error()}
	})
	root.PersistentFlags().BoolVar(&a.json, "json", false, "write JSON, with ids as strings")
	a.group(root, a.inspectCommand(), a.layoutCommand(), a.rangeCommand(),
		a.workersCommand(), a.fleetCommand(), a.doctorCommand(), a.fenceCommand(), a.initCommand(), a.sqlCommand(), a.serveCommand(), a.migrateCommand(), a.vetCommand())
	return root
}

// singleDash matches the error that pflag returns for a long flag with a single dash.
var singleDash = regexp.MustCompile(`unknown shorthand flag: '.' in -([a-z][a-z-]+)$`)

// group turns cmd into a command that only has subcommands.
func (a *app) group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(commands...)
	for _, c := range commands {
		if c.Args == nil {
			c.Args = flagsOnly
		}
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 && !cmd.HasParent():
			return nil
		case len(args) == 0:
			return &usageError{"which command? " + strings.Join(names(cmd), ", ")}
		case number.MatchString(args[0]):
			return &usageError{"which command? To decode an id, write snowkey inspect ID"}
		case !word.MatchString(args[0]):
			return &usageError{"which command? The first argument is not one"} // don't print it, since it may be a data source name
		}
		if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
			return &usageError{fmt.Sprintf("%s has no command %q; did you mean %s?", cmd.CommandPath(), args[0], strings.Join(similar, " or "))}
		}
		return &usageError{fmt.Sprintf("%s has no command %q; it has %s", cmd.CommandPath(), args[0], strings.Join(names(cmd), ", "))}
	}
	cmd.SuggestionsMinimumDistance = 2                                          // the default of other methods of cobra
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() } // only without arguments
	return cmd
}

var (
	word   = regexp.MustCompile(`^[a-z-]{1,20}$`)
	number = regexp.MustCompile(`^[0-9]{1,19}$`)
)

func names(cmd *cobra.Command) (all []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, c.Name())
		}
	}
	return all
}

// flagsOnly rejects all arguments. The error doesn't repeat them, because one of them
// may be a data source name.
func flagsOnly(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{cmd.CommandPath() + " takes only flags; name the database by --dsn, --dsn-file or SNOWKEY_DSN"}
	}
	return nil
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// colored reports whether we may use colours in the output.
func (a *app) colored() bool {
	return a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb" && runtime.GOOS != "windows" && terminal(a.stdout)
}

func terminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// complete lets the shell complete the values of a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // can only fail if the flag is missing
}

// write writes a value as JSON if that was asked for, and as text otherwise.
func (a *app) write(w io.Writer, value any, text func(io.Writer) error) error {
	if a.json {
		return encode(w, value, "  ")
	}
	return text(w)
}

// print is write for a text that is short.
func (a *app) print(value any, format string, args ...any) error {
	return a.write(a.stdout, value, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, format, args...)
		return err
	})
}

// writeTable is write for lines whose columns are separated by tabs.
func (a *app) writeTable(value any, lines func(io.Writer)) error {
	return a.write(a.stdout, value, func(w io.Writer) error {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		lines(table)
		return table.Flush()
	})
}

// writeLine writes a value as one line of JSON.
func writeLine(w io.Writer, value any) error { return encode(w, value, "") }

func encode(w io.Writer, value any, indent string) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	return encoder.Encode(value)
}
