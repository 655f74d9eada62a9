package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/autoinc"
)

const applyUsage = `usage: snowkey migrate apply -plan file [flags]

Applies the next phase of a plan, or goes on with it after a crash. It prints first
what the phase does and what has to be done before. The phases fence, drop and guard
refuse rows that were taken before: apply asks on a terminal, and needs -yes elsewhere.
Progress is kept in a table of the database, snowkey_migration. Ctrl-C stops after the
current batch of a backfill, and a second Ctrl-C at once.

` + sourceUsage

const lockTimeoutUsage = "how long a statement waits for a lock, with others waiting behind it, before it tries again (default 100ms on Postgres, else 5s)"

func apply(ctx context.Context, sys system, args []string) error {
	flags := flag.NewFlagSet("apply", flag.ContinueOnError)
	flags.SetOutput(sys.stderr)
	from := source{write: true}
	from.register(flags)
	var options autoinc.ApplyOptions
	path := flags.String("plan", "", "the plan's `file`")
	flags.StringVar((*string)(&options.Phase), "phase", "", "the `phase` to apply, after which Apply stops anyway; by default the next: widen, readers, fence, switch-on, drop, guard")
	flags.IntVar(&options.BatchSize, "batch-size", 0, "how many `rows` a backfill fills at a time, about (default 10000)")
	flags.DurationVar(&options.Pause, "pause", 0, "how long a backfill rests after each batch")
	flags.DurationVar(&options.MaxLag, "max-lag", 0, "how far a replica may be behind before a backfill pauses (default 10s)")
	flags.DurationVar(&options.LockTimeout, "lock-timeout", 0, lockTimeoutUsage)
	flags.BoolVar(&options.DryRun, "dry-run", false, "print the statements of the phase and run none")
	yes := flags.Bool("yes", false, "do not ask before the phases fence, drop and guard")
	if err := parse(flags, applyUsage, args); err != nil {
		return err
	}
	p, err := readPlan(*path)
	if err != nil {
		return err
	}
	db, err := from.open(sys.getenv)
	if err != nil {
		return err
	}
	defer db.Close()
	next, steps, err := look(ctx, db, p, options)
	if err != nil {
		return err
	}
	if steps > 0 {
		announce(sys, p, next)
	}
	if steps > 0 && !options.DryRun && !*yes {
		if err := confirm(sys, next); err != nil {
			return err
		}
	}
	printer := printer{out: sys.stdout, bar: sys.stderr, dry: options.DryRun}
	options.Progress = printer.print
	phase, err := autoinc.Apply(ctx, db, p, options)
	printer.endBar()
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped, and the progress is kept; to continue, call: snowkey migrate apply -plan %s; or to go back: snowkey migrate undo -plan %[1]s\n%w", *path, err)
	case err != nil:
		return err
	case phase.Name == "":
		fmt.Fprintln(sys.stdout, "every phase is complete; prove it with snowkey migrate verify")
		return nil
	case options.DryRun:
		fmt.Fprintf(sys.stdout, "the phase %s was not applied: this was a dry run\n", phase.Name)
		return nil
	}
	fmt.Fprintf(sys.stdout, "the phase %s is complete; snowkey migrate status shows the next\n", phase.Name)
	return nil
}

// look returns the phase that apply would apply, and how many of its steps are left.
func look(ctx context.Context, db *sql.DB, p *autoinc.Plan, options autoinc.ApplyOptions) (autoinc.Phase, int, error) {
	left := 0
	options.DryRun = true
	options.Progress = func(progress autoinc.Progress) {
		if progress.Event == autoinc.Would {
			left++
		}
	}
	phase, err := autoinc.Apply(ctx, db, p, options)
	return phase, left, err
}

// announce prints what a phase does.
func announce(sys system, p *autoinc.Plan, phase autoinc.Phase) {
	number := slices.IndexFunc(p.Phases, func(other autoinc.Phase) bool { return other.Name == phase.Name }) + 1
	fmt.Fprintf(sys.stdout, "next is the phase %s, %d of %d:\n", phase.Name, number, len(p.Phases))
	for _, note := range phase.Notes {
		fmt.Fprintln(sys.stdout, "  "+note)
	}
}

// confirm asks before a phase after which rows are refused that were taken before.
func confirm(sys system, phase autoinc.Phase) error {
	switch phase.Name {
	case autoinc.Fence, autoinc.Drop, autoinc.Guard:
	default:
		return nil
	}
	if file, ok := sys.stdin.(*os.File); !ok || !terminal(file) {
		return fmt.Errorf("the phase %s refuses rows that were taken before; call apply again with -yes", phase.Name)
	}
	fmt.Fprintf(sys.stdout, "apply the phase %s? [y/N] ", phase.Name)
	answer, _ := bufio.NewReader(sys.stdin).ReadString('\n') // an error is the same as no
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was applied")
	}
	return nil
}

// A printer prints progress: a line for each step, and a bar for a backfill.
type printer struct {
	out, bar io.Writer
	dry      bool
	tenths   int64 // of the bar that were printed
	open     bool  // whether a bar is on the line
}

func (p *printer) print(progress autoinc.Progress) {
	s := progress.Step
	if progress.Event != autoinc.Filled {
		p.endBar()
	}
	switch progress.Event {
	case autoinc.Began:
		fmt.Fprintf(p.out, "%-12s %s\n", s.ID, s.Text)
	case autoinc.Skipped:
		fmt.Fprintf(p.out, "%-12s %s: done before\n", s.ID, s.Text)
	case autoinc.Retried:
		fmt.Fprintf(p.out, "%-12s waiting, to try again: %v\n", s.ID, progress.Err)
	case autoinc.Would:
		fmt.Fprintf(p.out, "%-12s %s\n%s;\n", s.ID, s.Text, s.SQL)
	case autoinc.Filled:
		p.fill(progress)
	}
}

// fill draws the bar: over itself on a terminal, and a line for each tenth
// elsewhere.
func (p *printer) fill(progress autoinc.Progress) {
	const width = 40
	total := max(progress.Total, 1)
	filled := min(progress.Done*width/total, width)
	percent := min(progress.Done*100/total, 100)
	bar := fmt.Sprintf("%-12s [%s%s] %3d %%", progress.Step.ID, strings.Repeat("#", int(filled)), strings.Repeat(".", int(width-filled)), percent)
	if terminal(p.bar) {
		fmt.Fprint(p.bar, "\r"+bar)
		p.open = true
		return
	}
	if tenth := percent / 10; tenth != p.tenths {
		p.tenths = tenth
		fmt.Fprintln(p.bar, bar)
	}
}

func (p *printer) endBar() {
	if p.open {
		fmt.Fprintln(p.bar)
	}
	p.open, p.tenths = false, 0
}

func terminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
