package autoinc

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// prepare checks that this is the kind of server that the plan was made for, and sets
// up the session. It also takes the lock that keeps other processes from applying a
// plan.
func (a *applier) prepare(ctx context.Context) error {
	found, err := database.Identify(ctx, a.conn, "")
	if err != nil {
		return err
	}
	if found.Dialect != a.Dialect {
		return fail(ErrPlan, "the plan is for %s, and this is %s; plan again, on this database", a.Dialect, found.Dialect)
	}
	return a.syntax().prepare(a, ctx)
}

// lockName returns the name of the lock that allows only one Apply at a time.
func (a *applier) lockName() string {
	return fmt.Sprintf("snowkey_migration %.16x", sha256.Sum256([]byte(a.ledger.name(a.plan.Progress))))
}

// setting changes a setting of the session, and remembers how to restore it.
func (a *applier) setting(ctx context.Context, change, restore string) error {
	if _, err := a.conn.ExecContext(ctx, change); err != nil {
		return fmt.Errorf("autoinc: setting up the session: %w", err)
	}
	a.restore = append([]string{restore}, a.restore...)
	return nil
}

// lockTimeout returns the statement that limits how long Postgres waits for a lock.
func (a *applier) lockTimeout() string {
	return fmt.Sprintf("SELECT set_config('lock_timeout', '%dms', false)", max(a.options.LockTimeout/time.Millisecond, 1))
}

func (a *applier) preparePostgres(ctx context.Context) error {
	if err := a.refuseReadOnly(ctx, "SELECT pg_is_in_recovery()::int"); err != nil {
		return err
	}
	key := fmt.Sprintf("hashtextextended(%s, 0)", a.Literal(a.lockName()))
	locked, err := database.One(ctx, a.conn, "SELECT pg_try_advisory_lock("+key+")", func(b *bool) []any { return []any{b} })
	if err != nil {
		return err
	}
	if !locked {
		return a.busy(ctx, "SELECT format('%s of %s, connected since %s', a.pid, a.usename, date_trunc('second', a.backend_start)) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.classid::bigint << 32 | l.objid::bigint = "+key)
	}
	a.restore = append(a.restore, "SELECT pg_advisory_unlock("+key+")")
	settings := [][2]string{
		{"lock_timeout", "0"}, // each step sets its own
		{"statement_timeout", "0"},
		{"search_path", ""}, // all names in a plan are qualified
		{"row_security", "off"},
		{"standard_conforming_strings", "on"},
	}
	for _, s := range settings {
		was, err := database.One(ctx, a.conn, "SELECT current_setting("+a.Literal(s[0])+")", database.Text)
		if err != nil {
			return err
		}
		set := "SELECT set_config(" + a.Literal(s[0]) + ", %s, false)"
		if err := a.setting(ctx, fmt.Sprintf(set, a.Literal(s[1])), fmt.Sprintf(set, a.Literal(was))); err != nil {
			return err
		}
	}
	return nil
}

func (a *applier) prepareMySQL(ctx context.Context) error {
	if err := a.refuseReadOnly(ctx, "SELECT @@read_only"); err != nil {
		return err
	}
	locked, err := database.One(ctx, a.conn, "SELECT COALESCE(GET_LOCK("+a.Literal(a.lockName())+", 0), 0)", func(n *int) []any { return []any{n} })
	if err != nil {
		return err
	}
	if locked == 0 {
		return a.busy(ctx, "SELECT CONCAT(ID, ' of ', USER, '@', HOST, ', ', COMMAND, ' for ', TIME, ' s') FROM information_schema.PROCESSLIST WHERE ID = IS_USED_LOCK("+a.Literal(a.lockName())+")")
	}
	if a.session, err = database.One(ctx, a.conn, "SELECT CONNECTION_ID()", database.Number); err != nil {
		return err
	}
	a.restore = append(a.restore, "DO RELEASE_LOCK("+a.Literal(a.lockName())+")")
	mode, err := database.One(ctx, a.conn, "SELECT @@SESSION.sql_mode", database.Text)
	if err != nil {
		return err
	}
	if err := a.setting(ctx, "SET SESSION sql_mode = "+a.Literal(mysqlMode), "SET SESSION sql_mode = "+a.Literal(mode)); err != nil {
		return err
	}
	if a.Dialect == catalog.MariaDB { // or it would end a long ALTER (1969)
		was, err := database.One(ctx, a.conn, "SELECT @@SESSION.max_statement_time", database.Text)
		if err != nil {
			return err
		}
		if err := a.setting(ctx, "SET SESSION max_statement_time = 0", "SET SESSION max_statement_time = "+was); err != nil {
			return err
		}
	}
	seconds := max(int64((a.options.LockTimeout+time.Second-1)/time.Second), 1)
	if a.watch != nil { // see exec
		seconds = max(seconds, 5)
	}
	for name, value := range map[string]int64{
		"lock_wait_timeout":        seconds,
		"innodb_lock_wait_timeout": seconds,
		"autocommit":               1,
		"foreign_key_checks":       1,
	} {
		was, err := database.One(ctx, a.conn, "SELECT @@SESSION."+name, database.Number)
		if err != nil {
			return err
		}
		if err := a.setting(ctx, fmt.Sprintf("SET SESSION %s = %d", name, value), fmt.Sprintf("SET SESSION %s = %d", name, was)); err != nil {
			return err
		}
	}
	return nil
}

// busy returns the error for a lock that another process holds, which the query describes.
func (a *applier) busy(ctx context.Context, query string) error {
	who := "another process"
	if found, err := database.List(ctx, a.conn, query, database.Text); err == nil && len(found) > 0 {
		who = "the process " + database.Printable(found[0])
	}
	return fail(ErrBusy, "%s is applying a plan with the progress in %s; wait until it ends", who, a.ledger.name(a.plan.Progress))
}

// refuseReadOnly returns an error if the server is a standby, or read-only.
func (a *applier) refuseReadOnly(ctx context.Context, query string) error {
	readOnly, err := database.One(ctx, a.conn, query, database.Number)
	if err == nil && readOnly != 0 {
		err = fail(ErrPlan, "this server takes no writes, because it is a standby or read-only; connect to the primary")
	}
	return err
}

// prepareSQLite doesn't need a lock. Every step runs in a transaction that excludes
// other writers, and starts by reading the progress.
func (a *applier) prepareSQLite(ctx context.Context) error {
	for pragma, value := range map[string]int64{
		"busy_timeout":       max(int64(a.options.LockTimeout/time.Millisecond), 1),
		"foreign_keys":       1,
		"legacy_alter_table": 0,
	} {
		was, err := database.One(ctx, a.conn, "PRAGMA "+pragma, database.Number)
		if err != nil {
			return err
		}
		if err := a.setting(ctx, fmt.Sprintf("PRAGMA %s = %d", pragma, value), fmt.Sprintf("PRAGMA %s = %d", pragma, was)); err != nil {
			return err
		}
	}
	return nil
}
