package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/schema/autoinc"
	"github.com/spf13/cobra"
)

const lockTimeoutUsage = "how long a statement waits for a lock, with others waiting behind it, before it tries again (default 100ms, and 5s on SQLite)"

func registerPhase(cmd *cobra.Command, phase *autoinc.PhaseName, usage string) {
	cmd.Flags().StringVar((*string)(phase), "phase", "", usage)
	complete(cmd, "phase", "widen", "readers", "fence", "switch-on", "drop", "guard", "map", "rekey")
}

func (a *app) applyCommand() *cobra.Command {
	var yes bool
	var l leases
	var options autoinc.ApplyOptions
	cmd := a.withPlan(&cobra.Command{
		Use:   "apply --plan FILE",
		Short: "Apply a phase of a plan, or go on with it after a crash",
		Long: `Apply applies the next phase of a plan, or goes on with it after a crash. It first prints
what the phase does and what has to be done before it. The phases fence, drop and guard
refuse rows that were accepted before, and rekey replaces keys, so apply asks on a terminal,
and needs --yes elsewhere. It keeps its progress in a table of the database, snowkey_migration. Ctrl-C
stops after the current batch of a backfill, and a second Ctrl-C at once.`,
		Example: `  snowkey migrate apply --plan leave.sql --dry-run
  snowkey migrate apply --plan leave.sql --phase widen`,
	}, func(ctx context.Context, p planned, _ []string) error {
		options.IDs = l.ids(ctx, p)
		return a.apply(ctx, p, options, yes)
	})
	registerPhase(cmd, &options.Phase, "the `phase` to apply, after which apply stops anyway; by default the next: widen, readers, fence, switch-on, drop, guard; or map, rekey")
	flags := cmd.Flags()
	flags.IntVar(&options.BatchSize, "batch-size", 0, "how many `rows` a backfill fills at a time, about; fewer if they take longer than 0.1 s (default 10000)")
	flags.DurationVar(&options.Pause, "pause", 0, "how long a backfill rests after each batch")
	flags.DurationVar(&options.MaxLag, "max-lag", 0, "how far a replica may be behind before a backfill pauses (default 10s)")
	flags.IntVar(&options.MaxActive, "max-active", 0, "how many other sessions may be running a statement before a backfill pauses (default any number)")
	flags.DurationVar(&options.LockTimeout, "lock-timeout", 0, lockTimeoutUsage)
	flags.BoolVar(&options.HoldSwap, "hold-swap", false, "for plans with --online: wait before columns or tables are replaced, until snowkey migrate control continue")
	flags.BoolVar(&options.DryRun, "dry-run", false, "print the statements of the phase and run none")
	flags.BoolVar(&yes, "yes", false, "do not ask before the phases fence, drop, guard and rekey")
	l.registerIDs(cmd)
	return cmd
}

func (a *app) apply(ctx context.Context, p planned, options autoinc.ApplyOptions, yes bool) error {
	next, steps, err := p.look(ctx, options)
	if err != nil {
		return err
	}
	if steps > 0 && !a.json {
		p.announce(a.stdout, next)
	}
	if steps > 0 && !options.DryRun {
		if err := a.confirmPhase(yes, next); err != nil {
			return err
		}
	}
	if !a.json && !options.DryRun {
		fmt.Fprintln(a.stderr, "comparing the plan with the database")
	}
	printer := printer{out: a.stdout, bar: a.stderr, json: a.json}
	options.Progress = printer.print
	phase, err := autoinc.Apply(ctx, p.db, p.Plan, options)
	printer.endBar()
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped, and the progress is kept; to continue, call: snowkey migrate apply --plan %s; or to go back: snowkey migrate undo --plan %[1]s\n%w", p.path, err)
	case err != nil:
		return err
	case a.json:
		return writeLine(a.stdout, map[string]any{"event": "end", "phase": phase.Name, "dryRun": options.DryRun})
	case phase.Name == "":
		fmt.Fprintln(a.stdout, "every phase is complete; prove it with snowkey migrate verify")
	case options.DryRun:
		fmt.Fprintf(a.stdout, "the phase %s was not applied: this was a dry run\n", phase.Name)
	default:
		fmt.Fprintf(a.stdout, "the phase %s is complete; snowkey migrate status shows the next\n", phase.Name)
	}
	return nil
}

func (a *app) undoCommand() *cobra.Command {
	var options autoinc.ApplyOptions
	cmd := a.withPlan(&cobra.Command{
		Use:   "undo --plan FILE",
		Short: "Reverse what apply did, before the first generated key",
		Long: `Undo reverses what apply did, the last step first. With --phase it reverses that phase and
those after it. Call it again after a crash. It changes nothing if a table has a generated
key, or a row that the old columns and foreign keys could not hold. If it has begun and
cannot be completed, --cancel takes it back, and apply continues.`,
		Example: `  snowkey migrate undo --plan leave.sql --dry-run
  snowkey migrate undo --plan leave.sql --cancel`,
	}, func(ctx context.Context, p planned, _ []string) error { return a.undo(ctx, p, options) })
	registerPhase(cmd, &options.Phase, "the first `phase` to reverse; by default the first, so that all are")
	cmd.Flags().DurationVar(&options.LockTimeout, "lock-timeout", 0, lockTimeoutUsage)
	cmd.Flags().BoolVar(&options.CancelUndo, "cancel", false, "take back an undo that has begun, so that apply can continue")
	cmd.Flags().BoolVar(&options.DryRun, "dry-run", false, "print the statements and run none")
	return cmd
}

func (a *app) undo(ctx context.Context, p planned, options autoinc.ApplyOptions) error {
	printer := printer{out: a.stdout, bar: a.stderr, json: a.json, reverse: true}
	options.Progress = printer.print
	switch err := autoinc.Undo(ctx, p.db, p.Plan, options); {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped, and the progress is kept; to continue, call: snowkey migrate undo --plan %s\n%w", p.path, err)
	case err != nil:
		return err
	case a.json:
		return writeLine(a.stdout, map[string]any{"event": "end", "steps": printer.begun, "dryRun": options.DryRun})
	case options.CancelUndo:
		fmt.Fprintln(a.stdout, "no undo is going on; snowkey migrate apply continues")
	case options.DryRun:
		fmt.Fprintln(a.stdout, "nothing was reversed: this was a dry run")
	case printer.begun == 0:
		fmt.Fprintln(a.stdout, "there was nothing to reverse")
	default:
		fmt.Fprintln(a.stdout, "the plan was reversed")
	}
	return nil
}

// confirmPhase asks for confirmation before a phase after which the database refuses
// rows that it used to accept.
func (a *app) confirmPhase(yes bool, phase autoinc.Phase) error {
	switch phase.Name {
	case autoinc.Fence, autoinc.Drop, autoinc.Guard:
		return a.confirm(yes, fmt.Sprintf("apply the phase %s?", phase.Name),
			fmt.Sprintf("the phase %s refuses rows that were accepted before", phase.Name))
	case autoinc.Rekey:
		return a.confirm(yes, "is the application stopped, and are its keys to be replaced?", "the phase rekey replaces keys while the application is stopped")
	default:
		return nil
	}
}

// confirm asks a question if we're on a terminal, unless the user has said yes. Elsewhere, it
// returns an error with the reason for the question that tells the user to add --yes.
func (a *app) confirm(yes bool, question, reason string) error {
	if yes {
		return nil
	}
	if !terminal(a.stdin) {
		return errors.New(reason + "; call it again with --yes")
	}
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(a.stdin).ReadString('\n') // an error is as good as a no
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

// A printer prints progress, with a line for each step and a bar for a backfill. As
// JSON, it prints an object for each event instead.
type printer struct {
	out, bar io.Writer
	json     bool
	reverse  bool  // whether steps are reversed
	begun    int   // how many steps have begun
	tenths   int64 // how many tenths of the bar have been printed
	open     bool  // whether the current line has a bar
	// When the bar began, and what was filled then, to estimate how long it takes.
	since time.Time
	first int64
}

func (p *printer) print(progress autoinc.Progress) {
	s := progress.Step
	text, statements := s.Text, []string{s.SQL}
	if p.reverse {
		text, statements = "reversed: "+s.Text, s.Undo
	}
	if progress.Event == autoinc.Began {
		p.begun++
	}
	if p.json {
		e := event{Event: progress.Event, Phase: progress.Phase, Step: s.ID, Text: s.Text, Done: progress.Done, Total: progress.Total}
		if progress.Event == autoinc.Would {
			e.SQL = statements
		}
		if progress.Err != nil {
			e.Error = progress.Err.Error()
		}
		_ = writeLine(p.out, e) // keep migrating even if the reader is gone
		return
	}
	if progress.Event != autoinc.Filled {
		p.endBar()
	}
	switch progress.Event {
	case autoinc.Ended:
		return
	case autoinc.Filled:
		p.fill(progress)
		return
	case autoinc.Skipped:
		text = s.Text + ": done before"
	case autoinc.Retried:
		text = fmt.Sprintf("waiting, to try again: %v", progress.Err)
	}
	fmt.Fprintf(p.out, "%-12s %s\n", s.ID, text)
	if progress.Event == autoinc.Would {
		for _, sql := range statements {
			fmt.Fprintf(p.out, "%s;\n", sql)
		}
	}
}

// fill draws the bar. On a terminal, each new bar replaces the last one. Anywhere else,
// we print one line for every tenth.
func (p *printer) fill(progress autoinc.Progress) {
	const width = 40
	total := max(progress.Total, 1)
	filled := min(progress.Done*width/total, width)
	percent := min(progress.Done*100/total, 100)
	bar := fmt.Sprintf("%-12s [%s%s] %3d %%", progress.Step.ID, strings.Repeat("#", int(filled)), strings.Repeat(".", int(width-filled)), percent)
	switch {
	case p.since.IsZero():
		p.since, p.first = time.Now(), progress.Done
	case progress.Done < progress.Total:
		left := time.Duration(float64(time.Since(p.since)) * float64(progress.Total-progress.Done) / float64(progress.Done-p.first))
		bar += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
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
	p.open, p.tenths, p.since = false, 0, time.Time{}
}

// An event is the JSON form of a progress.
type event struct {
	Event string            `json:"event"`
	Phase autoinc.PhaseName `json:"phase"`
	Step  string            `json:"step"`
	Text  string            `json:"text"`
	SQL   []string          `json:"sql,omitempty"` // only in a dry run
	Done  int64             `json:"done,omitempty"`
	Total int64             `json:"total,omitempty"`
	Error string            `json:"error,omitempty"`
}
