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

// locking is how a step of Postgres is run that locks all tables of its transaction.
const locking = "lock"

// lock locks tables in the way that disturbs other sessions least. Other sessions queue
// behind a statement that waits for ACCESS EXCLUSIVE, so the statement may not wait longer
// than LockTimeout for all tables together.
//
// It is also stopped before deadlock_timeout. A session checks for deadlocks only after
// it has waited that long. So if an application locks the same tables in another order,
// Apply gives up first, and Postgres ends no statement of the application.
func (a *applier) lock(ctx context.Context, s Step) error {
	deadlock, err := database.One(ctx, a.conn, "SELECT setting::bigint FROM pg_settings WHERE name = 'deadlock_timeout'", database.Number)
	if err != nil {
		return failedStep(s, err)
	}
	timeout := max(min(a.options.LockTimeout.Milliseconds(), deadlock/2), 1)
	err = a.set(ctx, s, []string{
		// Readers and writers do not wait for this lock, but it waits for an autovacuum,
		// which Postgres ends after deadlock_timeout.
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

// inMode returns a step that locks the same tables in another mode.
func inMode(s Step, mode string) Step {
	s.SQL = s.SQL[:strings.LastIndex(s.SQL, " IN ")] + " IN " + mode + " MODE"
	return s
}

var errLocked = errors.New("other sessions use the tables")

// unhurried is for statements that no reader or writer has to wait for.
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

// patiently retries while another session holds a lock. The pauses double, up to two
// minutes, and vary at random, so that they do not keep time with another program.
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
