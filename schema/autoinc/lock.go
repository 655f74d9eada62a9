package autoinc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
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
		return err
	}
	timeout := max(min(a.options.LockTimeout.Milliseconds(), deadlock/2), 1)
	for _, statement := range []string{
		// This lock doesn't make readers and writers wait, but it has to wait for an
		// autovacuum, which Postgres cancels after deadlock_timeout.
		fmt.Sprintf("SELECT set_config('lock_timeout', '%dms', true)", deadlock+1000),
		inMode(s, "SHARE UPDATE EXCLUSIVE").SQL,
		fmt.Sprintf("SELECT set_config('statement_timeout', '%dms', true)", timeout),
		s.SQL,
		"SELECT set_config('statement_timeout', '0', true)",
		a.lockTimeout(),
	} {
		if _, err := a.conn.ExecContext(ctx, statement); err != nil {
			if sqldialect.SQLState(err) == "57014" && ctx.Err() == nil {
				err = fmt.Errorf("%w: %w", errLocked, err)
			}
			return err
		}
	}
	return nil
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

// patiently retries for as long as another session holds a lock, up to 20 attempts in
// total. If we can see the session that holds it, the next attempt comes as soon as its
// transaction has ended. Otherwise we pause, twice as long each time, up to two minutes.
// The pauses are randomized, so that we don't fall into step with another program. In a
// dry run, it does nothing.
func (a *applier) patiently(ctx context.Context, try func() error) error {
	const attempts, most = 20, 2 * time.Minute
	pause := 50 * time.Millisecond
	for attempt := 1; !a.options.DryRun; attempt++ {
		err := try()
		// If another session held a lock, the statement hasn't changed anything.
		locked := errors.Is(err, errLocked) || sqldialect.Busy(err) || sqldialect.Conflict(err)
		if !locked || a.spoilt || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		holder := a.holder(ctx)
		if holder != "" {
			err = fmt.Errorf("%w; it waits for %s", err, holder)
		}
		if attempt == attempts {
			return err
		}
		a.retried(err)
		stopped := database.Sleep(ctx, pause/2+rand.N(pause))
		if holder != "" {
			for began := time.Now(); stopped == nil && a.holder(ctx) != "" && time.Since(began) < most; {
				stopped = database.Sleep(ctx, lookAgain)
			}
			pause = 50 * time.Millisecond
		}
		if stopped != nil {
			return fmt.Errorf("%w; it was waiting to try again: %w", stopped, err)
		}
		pause = min(2*pause, most)
	}
	return nil
}

// lookAgain is how long we wait before we look again whether a session still holds a lock.
// MySQL and MariaDB keep what they say about transactions for as long as somebody reads it
// more often than every 0.1 s, so we would see a transaction that has ended.
const lookAgain = 200 * time.Millisecond

// holder describes the session with the oldest transaction that keeps the current steps
// from their locks, or returns "" if there is none or if we may not see it.
func (a *applier) holder(ctx context.Context) string {
	query := a.query("holder")
	switch {
	case a.IsMySQL():
		query = fmt.Sprintf(query, a.Literal(a.plan.Database))
	case len(a.current) == 0 || a.current[0].Run != locking:
		return ""
	default:
		lock := a.current[0].SQL
		tables := database.Joined(ddl.Names(lock, false), ", ", func(_ int, name []string) string { return "to_regclass(" + a.Literal(a.Path(name...)) + ")" })
		query = fmt.Sprintf(query, tables, strings.Contains(lock, againstAll), a.options.LockTimeout.Milliseconds())
	}
	found, err := database.List(ctx, a.conn, query, func(s *sql.Null[string]) []any { return []any{s} })
	if err != nil || len(found) == 0 {
		return ""
	}
	return database.Printable(found[0].V)
}

// exec executes a statement. On MySQL and MariaDB, a statement that waits for a table
// makes all later statements wait, too, and the server measures lock_wait_timeout in whole
// seconds. We therefore watch the statement from a second connection, and end it after
// LockTimeout. Only if it has copied rows for long, it's better to wait than to copy them
// again.
func (a *applier) exec(ctx context.Context, statement string) error {
	if a.watch == nil {
		_, err := a.conn.ExecContext(ctx, statement)
		return err
	}
	ended, killed := make(chan struct{}), make(chan bool)
	go func() { killed <- a.endIfWaiting(ctx, ended) }()
	_, err := a.conn.ExecContext(ctx, statement)
	close(ended)
	if <-killed && err != nil {
		err = fmt.Errorf("%w: %w", errLocked, err)
	}
	return err
}

// endIfWaiting ends the statement of the applier's connection if it waits for a table. It
// returns when the statement has ended, and reports whether it has ended it.
func (a *applier) endIfWaiting(ctx context.Context, ended <-chan struct{}) bool {
	const interval = 20 * time.Millisecond
	var waiting, copying time.Duration
	for last := time.Now(); ; {
		select {
		case <-ended:
			return false
		case <-time.After(interval):
		}
		state, err := database.One(ctx, a.watch, fmt.Sprintf("SELECT COALESCE(MAX(STATE), '') FROM information_schema.PROCESSLIST WHERE ID = %d", a.session), database.Text)
		passed := time.Since(last) // on a busy machine, longer than the interval
		last = last.Add(passed)
		switch {
		case err != nil:
			<-ended
			return false
		case strings.HasPrefix(state, "Waiting for table"):
			waiting += passed
		case strings.HasPrefix(state, "copy"):
			copying += passed
		}
		if waiting >= a.options.LockTimeout && copying <= 10*a.options.LockTimeout {
			_, err := a.watch.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", a.session))
			<-ended
			return err == nil
		}
	}
}
