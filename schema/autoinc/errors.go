package autoinc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// The errors of this package wrap one of these, an error of [catalog.Inspect], or an
// error of the driver.
var (
	// ErrRefused means that there is no plan, either because data would be lost or
	// because this package can't migrate a key. The message lists all reasons and
	// remedies.
	ErrRefused = errors.New("there is no plan")

	// ErrTable means that a table named in [PlanOptions] has no auto-increment key.
	ErrTable = errors.New("the table has no auto-increment key")

	// ErrPlan means that a plan does not fit the database, or was edited.
	ErrPlan = errors.New("the plan cannot be applied")

	// ErrPhase means that a phase does not exist, or that an earlier phase is not
	// complete.
	ErrPhase = errors.New("the phase cannot be applied yet")

	// ErrBusy means that another [Apply] is already running in this database.
	ErrBusy = errors.New("another process is applying a plan")

	// ErrUnfinished means that [Apply] has stopped in the middle of a phase of another
	// plan. That plan has to be completed or reversed first, because the catalog no
	// longer shows the state before its phase, such as foreign keys that must be added
	// again.
	ErrUnfinished = errors.New("another plan is unfinished")

	// ErrStopped means that [Control] has stopped an [Apply]. The next Apply continues.
	ErrStopped = errors.New("it was stopped")

	// ErrRefuted means that at least one proof of [Verify] failed.
	ErrRefuted = errors.New("the verification failed")
)

// A failure is an error with its own message that wraps one of the errors above.
type failure struct {
	kind error
	text string
}

func (e *failure) Error() string { return "autoinc: " + e.text }

func (e *failure) Unwrap() error { return e.kind }

func fail(kind error, format string, args ...any) error {
	return &failure{kind, fmt.Sprintf(format, args...)}
}

// A refusal is one of the reasons why there is no plan.
type refusal struct {
	reason, remedy string
	columns        []catalog.Column // the keys and children concerned
}

func refused(s server, refusals []refusal) error {
	var b strings.Builder
	fmt.Fprintf(&b, "there is no plan, for %s", database.Plural(len(refusals), "reason"))
	for _, r := range refusals {
		columns := database.Joined(r.columns, ", ", func(_ int, c catalog.Column) string { return database.Printable(s.column(c)) })
		fmt.Fprintf(&b, "\n%s: %s\n  → %s", columns, database.Printable(r.reason), database.Printable(r.remedy))
	}
	return fail(ErrRefused, "%s", b.String())
}

// failedStep returns an error that says which step failed. [Apply] may be called again.
func failedStep(s Step, err error) error {
	return fmt.Errorf("autoinc: step %s (%s): %w", s.ID, s.Text, err)
}
