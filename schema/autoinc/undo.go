package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// Undo reverses what [Apply] did, starting with the last step, and deletes its record.
// If [ApplyOptions].Phase is set, Undo reverses that phase and those after it,
// otherwise the whole plan. This restores the database to its earlier state, with one
// exception: on Postgres, columns that were widened online remain the last ones of their
// table.
//
// Undo may be called again after a crash at any point. Until it has completed, or was
// taken back with [ApplyOptions].CancelUndo, Apply returns [ErrUnfinished].
//
// If a table already has a generated key, Undo does not change anything and returns an
// error that wraps [ErrRefused]. A narrow column couldn't hold such a key, and a
// counter would continue from it. The same goes for counted keys and counters outside of
// the old range, and for rows that reference missing rows. Other errors are the same as
// for Apply.
func Undo(ctx context.Context, db *sql.DB, plan *Plan, options ApplyOptions) error {
	return withApplier(ctx, db, plan, options, func(a *applier) error {
		if options.CancelUndo {
			return a.cancelUndo(ctx)
		}
		return a.undo(ctx)
	})
}

// cancelUndo takes back an Undo that has begun and can't be completed.
func (a *applier) cancelUndo(ctx context.Context) error {
	entries, err := a.ledger.find(ctx)
	undo, known := entries[undoing]
	switch {
	case err != nil || !known:
		return err
	case a.online(undo.detail):
		return fail(ErrUnfinished, "the phase %s is partly reversed, and nothing can be replaced again until it is reversed as a whole; complete it with snowkey migrate undo", undo.detail)
	}
	// Undo may have reversed its last step without deleting the record, if the step
	// doesn't run in a transaction. Apply then has to look whether the step was applied.
	var last Step
	for _, s := range a.plan.phase(PhaseName(undo.detail)).Steps {
		if _, known := entries[s.ID]; known {
			last = s
		}
	}
	if last.Unit == 0 && last.Done != "" {
		if err := a.set(ctx, last, last.Retry); err != nil { // for what it may have left behind
			return err
		}
		if err := a.ledger.write(ctx, last.ID, entry{state: started}); err != nil {
			return err
		}
	}
	return a.ledger.forget(ctx, undoing)
}

// undoing is the entry that marks a plan as being reversed.
const undoing = "undo"

func (a *applier) undo(ctx context.Context) error {
	phases := a.plan.Phases
	if a.options.Phase != "" {
		phases = phases[slices.IndexFunc(phases, func(p Phase) bool { return p.Name == a.options.Phase }):]
	}
	entries, err := a.ledger.own(ctx)
	if err != nil || entries == nil {
		return err
	}
	if err := a.refuseGenerated(ctx); err != nil {
		return err
	}
	if _, begun := entries[undoing]; !begun || !a.plan.rekeyed() { // otherwise some tables may have their old keys again
		if err := a.refuseIrreversible(ctx, phases, entries); err != nil {
			return err
		}
	}
	for _, phase := range slices.Backward(phases) {
		if err := a.undoPhase(ctx, phase, entries); err != nil {
			return err
		}
	}
	if err := a.patiently(ctx, func() error { return a.ledger.forget(ctx, undoing, control) }); err != nil {
		return err
	}
	progress := []Step{{ID: "progress", Text: "drop the table of the progress"}}
	return a.patiently(ctx, func() error {
		return a.inTransaction(ctx, progress, func() error { return a.ledger.drop(ctx) })
	})
}

// undoPhase reverses the steps of a phase that have an entry.
func (a *applier) undoPhase(ctx context.Context, phase Phase, entries map[string]entry) error {
	a.phase = phase.Name
	if len(entries) > 0 {
		err := a.patiently(ctx, func() error {
			if err := a.ledger.write(ctx, undoing, entry{started, string(phase.Name)}); err != nil {
				return err
			}
			// If the Undo is cancelled, the phase must not be taken for complete.
			return a.ledger.forget(ctx, string(phase.Name))
		})
		if err != nil {
			return err
		}
	}
	for _, steps := range slices.Backward(phase.Transactions()) {
		if _, known := entries[steps[0].ID]; !known {
			continue
		}
		if a.options.DryRun {
			for _, s := range slices.Backward(steps) {
				a.tell(s, Would)
			}
			continue
		}
		if err := a.unit(ctx, steps, func() error { return a.reverse(ctx, phase, steps, entries) }); err != nil {
			return err
		}
	}
	return nil
}

// refuseGenerated returns an error if there are generated keys.
func (a *applier) refuseGenerated(ctx context.Context) error {
	for i, query := range a.plan.Generated {
		keys, err := database.List(ctx, a.conn, query, database.Number)
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			return fail(ErrRefused, "the plan cannot be reversed: %s has the generated key %d, which the counter and a narrow column cannot follow; delete such rows first, or go on with snowkey migrate apply",
				database.Printable(a.column(a.plan.keys[i].Column)), keys[0])
		}
	}
	return nil
}

// refuseIrreversible returns an error if reversing a step would fail, for instance because
// a column has a value that doesn't fit its old type.
func (a *applier) refuseIrreversible(ctx context.Context, phases []Phase, entries map[string]entry) error {
	seen := make(map[string]bool)
	for _, phase := range phases {
		if phase.Name == Drop && phases[0].Name != Widen {
			continue // the columns stay wide
		}
		for _, s := range phase.Steps {
			if _, known := entries[s.ID]; !known {
				continue
			}
			for _, query := range s.UndoChecks {
				query = a.withCount(query, phase, s, entries)
				if seen[query] {
					continue
				}
				seen[query] = true
				s.SQL, s.Remedy = query, cmp.Or(s.Remedy, "delete or change such rows, or go on with snowkey migrate apply")
				if err := a.check(ctx, s); err != nil {
					return fail(ErrRefused, "the plan cannot be reversed, and nothing was changed: %s: %v", s.ID, err)
				}
			}
		}
	}
	return nil
}

// counted marks the place of a number in SQL, which is followed by what is used without
// one.
const counted = "/* counted */"

var countedValue = regexp.MustCompile(`/\* counted \*/ \w+`)

// withCount returns the SQL with the result of the last Count before the step.
func (a *applier) withCount(sql string, phase Phase, before Step, entries map[string]entry) string {
	count := ""
	for _, s := range phase.Steps {
		if s.ID == before.ID {
			break
		}
		if s.Run == Count {
			count = entries[s.ID].detail
		}
	}
	if _, err := strconv.ParseInt(count, 10, 64); err != nil {
		return sql
	}
	return countedValue.ReplaceAllLiteralString(sql, count)
}

// reverse reverses the steps of a unit, starting with the last one.
func (a *applier) reverse(ctx context.Context, phase Phase, steps []Step, entries map[string]entry) error {
	undo := func() error {
		if err := a.undoSteps(ctx, phase, steps, entries); err != nil {
			return err
		}
		return a.ledger.forget(ctx, ids(steps)...)
	}
	s := steps[0]
	if s.Unit != 0 {
		return a.inTransaction(ctx, steps, undo)
	}
	if len(s.Undo) > 0 {
		switch taken, err := a.asked(ctx, s); {
		case err != nil:
			return err
		case taken:
			return undo()
		}
		if err := a.set(ctx, s, s.Retry); err != nil {
			return err
		}
	}
	return a.ledger.forget(ctx, s.ID)
}

func (a *applier) undoSteps(ctx context.Context, phase Phase, steps []Step, entries map[string]entry) error {
	if s := steps[0]; s.Run == locking {
		// The statements that reverse a step may need a stronger lock than the step
		// itself. We take that lock now, because taking it later could cause a
		// deadlock with another session that holds a weaker one.
		if err := a.lock(ctx, inMode(s, againstAll)); err != nil {
			return failedStep(s, err)
		}
	}
	for _, s := range slices.Backward(steps) {
		a.tell(s, Began)
		for _, undo := range s.Undo {
			run := a.exec
			if strings.Contains(undo, rangeLast) {
				run = func(ctx context.Context, sql string) error { return a.backfill(ctx, s, sql, entry{}) }
			}
			if err := run(ctx, a.withCount(undo, phase, s, entries)); err != nil {
				return failedStep(s, fmt.Errorf("reversing it: %w", err))
			}
			if err := a.at(ctx, "undo "+s.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
