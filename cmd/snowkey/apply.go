package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/snowkey-go/snowkey/schema/autoinc"
)

const applyUsage = `usage: snowkey migrate apply -plan file [flags]

Applies the next phase of a plan, or goes on with it after a crash. What people
have to do before the phase after it is printed at the end. Progress is kept in a
table of the database, snowkey_migration.

` + sourceUsage

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
	flags.DurationVar(&options.LockTimeout, "lock-timeout", 0, "how long a statement waits for a lock, with others waiting behind it, before it tries again (default 5s)")
	flags.BoolVar(&options.DryRun, "dry-run", false, "print the statements of the phase and run none")
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
	printer := printer{out: sys.stdout, bar: sys.stderr, dry: options.DryRun}
	options.Progress = printer.print
	phase, err := autoinc.Apply(ctx, db, p, options)
	printer.endBar()
	switch {
	case err != nil:
		return err
	case phase.Name == "":
		fmt.Fprintln(sys.stdout, "every phase is complete; prove it with snowkey migrate verify")
		return nil
	case options.DryRun:
		fmt.Fprintf(sys.stdout, "the phase %s was not applied: this was a dry run\n", phase.Name)
		return nil
	}
	fmt.Fprintf(sys.stdout, "the phase %s is complete\n", phase.Name)
	for _, note := range phase.Notes {
		fmt.Fprintln(sys.stdout, "  "+note)
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
		fmt.Fprintf(p.out, "%-12s another session holds a lock; retrying: %v\n", s.ID, progress.Err)
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

func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
