package autoinc

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// open returns the ledger with the plan's progress, on a connection to a server of the kind that
// the plan was made for.
func (p *Plan) open(ctx context.Context, db *sql.DB) (ledger, error) {
	if db == nil || p == nil {
		return ledger{}, errors.New("autoinc: there is no database or no plan; pass an open *sql.DB and what NewPlan or ReadPlan returned")
	}
	body, err := p.body()
	if err != nil {
		return ledger{}, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return ledger{}, fmt.Errorf("autoinc: %w", err)
	}
	found, err := database.Identify(ctx, conn)
	if err == nil && found.Dialect != p.Dialect {
		err = fail(ErrPlan, "the plan is for %s, and this is %s; connect to the database it was made for, or plan again on this one", p.Dialect, found.Dialect)
	}
	if err != nil {
		conn.Close()
	}
	return ledger{p.server(), conn, p.progress, sum(body)}, err
}

// prepare sets up the session. It also takes the lock that keeps other processes from
// applying a plan.
func (a *applier) prepare(ctx context.Context) error {
	readOnly, err := database.One(ctx, a.conn, a.query("read only"), database.Number)
	if err != nil {
		return err
	}
	if readOnly != 0 {
		return fail(ErrPlan, "this server takes no writes, because it is a standby or read-only; connect to the primary")
	}
	locked, err := database.One(ctx, a.conn, a.withLock("lock"), database.Number)
	if err != nil {
		return err
	}
	if locked == 0 {
		who := "another process"
		if found, err := database.List(ctx, a.conn, a.withLock("locked by"), database.Text); err == nil && len(found) > 0 {
			who = "the process " + database.Printable(found[0])
		}
		return fail(ErrBusy, "%s is applying a plan with the progress in %s; wait until it ends", who, a.ledger.name(a.plan.progress))
	}
	a.restore = func() error { return nil }
	seconds := max(int64((a.options.LockTimeout+time.Second-1)/time.Second), 1)
	if a.watch != nil { // see exec
		seconds = max(seconds, 5)
	}
	settings := a.settings("session", "{seconds}", fmt.Sprint(seconds), "{milliseconds}", fmt.Sprint(a.milliseconds()))
	settings = append(settings, a.settings("session of "+string(a.Dialect))...)
	if a.plan.rekeyed() {
		settings = append(settings, a.settings("session that replaces keys")...)
	}
	restore, err := a.Set(ctx, a.conn, settings...)
	if err != nil {
		return err
	}
	a.restore = restore
	if a.watch != nil {
		a.session, err = database.One(ctx, a.conn, "SELECT CONNECTION_ID()", database.Number)
	}
	return err
}

// withLock returns a query with the name of the lock that allows only one Apply at a time.
func (a *applier) withLock(query string) string {
	name := fmt.Sprintf("snowkey_migration %.16x", sha256.Sum256([]byte(a.ledger.name(a.plan.progress))))
	return a.fill(query, "{lock}", a.Literal(name))
}

// lockTimeout returns the statement that limits how long Postgres waits for a lock.
func (a *applier) lockTimeout() string {
	return fmt.Sprintf("SELECT set_config('lock_timeout', '%dms', false)", a.milliseconds())
}

func (a *applier) milliseconds() int64 { return max(a.options.LockTimeout.Milliseconds(), 1) }
