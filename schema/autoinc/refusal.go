package autoinc

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A Refusal is one thing that is not planned, because it would lose data or
// cannot be done rightly.
type Refusal struct {
	Column catalog.Column // which key or child
	Reason string
	Remedy string
}

// A RefusedError says that there is no plan, with all the reasons.
type RefusedError struct {
	Refusals []Refusal

	server server
}

func (e *RefusedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "autoinc: there is no plan, for %s", database.Plural(len(e.Refusals), "reason"))
	for _, r := range e.Refusals {
		fmt.Fprintf(&b, "\n%s: %s\n  → %s", database.Printable(e.server.column(r.Column)), database.Printable(r.Reason), database.Printable(r.Remedy))
	}
	return b.String()
}

// A TableError says that a table of [PlanOptions] has no key that counts.
type TableError struct{ Table catalog.Name }

func (e *TableError) Error() string {
	return fmt.Sprintf("autoinc: the table %q of %q has no auto-increment key among those inspected; see Inspect for those that have", e.Table.Name, e.Table.Schema)
}

// A PlanError says that a plan cannot be applied as it is.
type PlanError struct {
	Reason string
	Remedy string
}

func (e *PlanError) Error() string { return "autoinc: " + e.Reason + "; " + e.Remedy }

// An UnfinishedError says that [Apply] has stopped in the middle of a phase of
// another plan. The catalog does not show what there was before, such as foreign
// keys that are yet to be added again.
type UnfinishedError struct {
	Plan  string // its sum
	Phase PhaseName
	Table string // where the progress is, quoted
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("autoinc: the plan %.12s… has stopped in the phase %s, and what it has taken down is not in the catalog; apply that plan to the end of the phase, or, if it has been undone by hand, delete its rows from %s",
		e.Plan, e.Phase, e.Table)
}

// A BusyError says that another Apply is at work in this database.
type BusyError struct{ Table string }

func (e *BusyError) Error() string {
	return "autoinc: another process is applying a plan with the progress in " + e.Table + "; wait until it ends"
}

// A PhaseError says that a phase cannot be applied yet.
type PhaseError struct {
	Phase PhaseName // what was asked for
	First PhaseName // what comes first; empty if there is no such phase
}

func (e *PhaseError) Error() string {
	if e.First == "" {
		return fmt.Sprintf("autoinc: there is no phase %q; there are %q", string(e.Phase), PhaseNames())
	}
	return fmt.Sprintf("autoinc: the phase %s comes after %s, which is not complete; apply that first", e.Phase, e.First)
}

// A StepError says which step of a plan has failed. [Apply] may be called again:
// it goes on where it stopped.
type StepError struct {
	Step Step
	Err  error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("autoinc: step %s (%s): %v", e.Step.ID, e.Step.Text, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// A CheckError says that rows were found that should not be.
type CheckError struct {
	Row    string // the first of them
	Remedy string
}

func (e *CheckError) Error() string {
	return fmt.Sprintf("a row was found where there should be none: %s; %s", e.Row, e.Remedy)
}
