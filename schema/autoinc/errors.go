package autoinc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// Errors of this package wrap one of these, an error of [catalog.Inspect], or an
// error of the driver.
var (
	// ErrRefused says that there is no plan, because data would be lost or because
	// this package cannot migrate a key. The text lists all reasons with remedies.
	ErrRefused = errors.New("there is no plan")

	// ErrTable says that a table of [PlanOptions] has no auto-increment key.
	ErrTable = errors.New("the table has no auto-increment key")

	// ErrPlan says that a plan does not fit the database, or was edited.
	ErrPlan = errors.New("the plan cannot be applied")

	// ErrPhase says that a phase does not exist, or that an earlier one is not
	// complete.
	ErrPhase = errors.New("the phase cannot be applied yet")

	// ErrBusy says that another [Apply] is running in this database.
	ErrBusy = errors.New("another process is applying a plan")

	// ErrUnfinished says that [Apply] has stopped in the middle of a phase of
	// another plan. The catalog does not show the state before that phase, such as
	// foreign keys that must be added again.
	ErrUnfinished = errors.New("another plan is unfinished")

	// ErrRefuted says that [Verify] has refuted something.
	ErrRefuted = errors.New("the verification failed")
)

// A failure is an error with a text of its own that wraps one of the above.
type failure struct {
	kind error
	text string
}

func (e *failure) Error() string { return "autoinc: " + e.text }

func (e *failure) Unwrap() error { return e.kind }

func fail(kind error, format string, args ...any) error {
	return &failure{kind, fmt.Sprintf(format, args...)}
}

// A refusal is one reason why there is no plan.
type refusal struct {
	column catalog.Column // which key or child
	reason string
	remedy string
}

func refused(s server, refusals []refusal) error {
	type reason struct{ reason, remedy string }
	var reasons []reason // in the order in which they were found
	columns := make(map[reason][]string)
	for _, r := range refusals {
		key := reason{r.reason, r.remedy}
		if len(columns[key]) == 0 {
			reasons = append(reasons, key)
		}
		columns[key] = append(columns[key], database.Printable(s.column(r.column)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "there is no plan, for %s", database.Plural(len(reasons), "reason"))
	for _, r := range reasons {
		fmt.Fprintf(&b, "\n%s: %s\n  → %s", strings.Join(columns[r], ", "), database.Printable(r.reason), database.Printable(r.remedy))
	}
	return fail(ErrRefused, "%s", b.String())
}

// failedStep says which step has failed. [Apply] may be called again.
func failedStep(s Step, err error) error {
	return fmt.Errorf("autoinc: step %s (%s): %w", s.ID, s.Text, err)
}
