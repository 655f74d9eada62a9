package autoinc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// What [Control] tells a running [Apply].
const (
	Pause    = "pause"    // to wait before its next step, or before the next batch of a backfill
	Continue = "continue" // to go on after a pause, or with [ApplyOptions].HoldSwap
	Stop     = "stop"     // to return [ErrStopped]
)

// control is the entry that holds what Control was called with.
const control = "control"

// Control tells an [Apply] of the plan that is running in some process to pause, to
// continue or to stop.
func Control(ctx context.Context, db *sql.DB, plan *Plan, command string) error {
	if !slices.Contains([]string{Pause, Continue, Stop}, command) {
		return fmt.Errorf("autoinc: %q is not %s, %s or %s", command, Pause, Continue, Stop)
	}
	l, err := plan.open(ctx, db)
	if err != nil {
		return err
	}
	defer l.conn.Close()
	there, err := l.exists(ctx)
	if err == nil && !there {
		err = fail(ErrPhase, "the plan is not being applied: there is no table %s", l.name(l.table))
	}
	if err != nil {
		return err
	}
	return l.write(ctx, control, entry{committed, command})
}

// obey waits for as long as Control has paused the plan. With hold, it waits until Control
// is called with Continue.
func (a *applier) obey(ctx context.Context, hold bool) error {
	query := fmt.Sprintf("SELECT detail FROM %s WHERE plan = %s AND step = %s", a.ledger.name(a.ledger.table), a.Literal(a.ledger.sum), a.Literal(control))
	for waiting := false; ; waiting = true {
		commands, err := database.List(ctx, a.conn, query, database.Text)
		if err != nil {
			return err
		}
		command := strings.Join(commands, "") // there is at most one
		switch {
		case command == Stop:
			return ErrStopped
		case command != Pause && (command == Continue || !hold):
			return nil
		case waiting:
		case command == Pause:
			a.retried(errors.New("it is paused, until snowkey migrate control continue"))
		default:
			a.retried(errors.New("the columns are ready to be replaced, after snowkey migrate control continue"))
		}
		if err := database.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}
