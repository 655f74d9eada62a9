package autoinc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// locking is how we run a step that, on Postgres, locks all tables of its transaction.
const locking = "lock"

// lock locks tables in a way that disturbs other sessions as little as possible. While
// a statement waits for ACCESS EXCLUSIVE, other sessions queue up behind it, so it must
// not wait longer than LockTimeout for all tables together.
//
// The wait must also end before deadlock_timeout, because only after that time does a
// session check for deadlocks. This way, if an application locks the same tables in
// another order, it's Apply that gives up first, and Postgres doesn't cancel any
// statement of the application.
func (a *applier) lock(ctx context.Context, s Step) error {
	deadlock, err := database.One(ctx, a.conn, "SELECT setting::bigint FROM pg_settings WHERE name = 'deadlock_timeout'", database.Number)
	if err != nil {
		return failedStep(s, err)
	}
	timeout := max(min(a.options.LockTimeout.Milliseconds(), deadlock/2), 1)
	err = a.set(ctx, s, []string{
		// This lock doesn't make readers and writers wait, but it has to wait for an
		// autovacuum, which Postgres cancels after deadlock_timeout.
		fmt.Sprintf("SELECT set_config('lock_timeout', '%dms', true)", deadlock+1000),
		inMode(s, "SHARE UPDATE EXCLUSIVE").SQL,
		fmt.Sprintf("SELECT set_config('statement_timeout', '%dms', true)", timeout),
		s.SQL,
		"SELECT set_config('statement_timeout', '0', true)",
		a.lockTimeout(),
	})
	if sqlState(err) == "57014" && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errLocked, err)
	}
	return err
}

// inMode returns a step that locks the same tables, but in another mode.
func inMode(s Step, mode string) Step {
	s.SQL = s.SQL[:strings.LastIndex(s.SQL, " IN ")] + " IN " + mode + " MODE"
	return s
}

var errLocked = errors.New("other sessions use the tables")

// unhurried waits for locks without a limit. It's for statements that don't make any
// reader or writer wait.
var unhurried = []string{"SELECT set_config('lock_timeout', '0', false)"}

func sqlState(err error) string {
	if state, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return state.SQLState()
	}
	return ""
}

// patiently retries for as long as another session holds a lock, up to 20 attempts in
// total. The pauses double, up to two minutes. They are also randomized, so that we
// don't fall into step with another program.
func (a *applier) patiently(ctx context.Context, try func() error, again func(error)) error {
	const attempts = 20
	pause := 50 * time.Millisecond
	for attempt := 1; ; attempt++ {
		err := try()
		if err == nil || attempt == attempts || !a.transient(err) {
			return err
		}
		again(err)
		if stopped := database.Sleep(ctx, pause/2+rand.N(pause)); stopped != nil {
			return fmt.Errorf("%w; it was waiting to try again: %w", stopped, err)
		}
		pause = min(2*pause, 2*time.Minute)
	}
}
