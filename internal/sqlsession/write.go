package sqlsession

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

// A Write is a statement that changes rows.
type Write struct {
	// Text has @names in place of Values. On PostgreSQL it must begin with [Begin]. On
	// PostgreSQL and SQLite it returns a number if it has changed a row. On MySQL, the
	// number is that of LAST_INSERT_ID, and Text may have @seconds, the time to wait for
	// a lock.
	Text   string
	Values map[string]any

	// NoWait makes the write fail at once if another statement has locked the row. On
	// MySQL, which can't do this for a single statement, it has no effect.
	NoWait bool

	During Settings // on MySQL

	// Autocommit reports whether the number of a write on MySQL tells that autocommit is
	// on. If it doesn't, or if Autocommit is nil, a COMMIT follows.
	Autocommit func(answer int64) bool
}

// Begin begins a write on PostgreSQL. The name here stands for a row; more can be added to
// its columns. The SELECT changes three settings for this transaction only, which works
// with poolers as well: the commit waits for the disk, the wait for a locked row is
// limited, and snowkey.write has a mark by which Run verifies the commit.
const Begin = `WITH here AS MATERIALIZED (
	SELECT set_config('synchronous_commit', 'on', true), set_config('lock_timeout', @patience, true), set_config('snowkey.write', @mark, true)`

// Run runs the write, and returns its number once it is committed. changed is false if no
// row was changed.
func (w Write) Run(ctx context.Context, db *sql.DB, d sqldialect.Dialect) (answer int64, changed bool, err error) {
	mark := rand.Text()
	values := map[string]any{"mark": mark, "patience": "1", "seconds": int64(0)}
	if !w.NoWait {
		values["patience"], values["seconds"] = patience(ctx), int64(2)
	}
	maps.Copy(values, w.Values)
	query, args := d.Bind(w.Text, values)
	switch d {
	case sqldialect.Postgres:
		return writePostgres(ctx, db, mark, query, args)
	case sqldialect.SQLite:
		return writeSQLite(ctx, db, query, args)
	}
	return writeMySQL(ctx, db, w.During, w.Autocommit, query)
}

// patience returns PostgreSQL's lock_timeout in milliseconds. It's the time until ctx
// ends, or 2 s if ctx has no deadline.
func patience(ctx context.Context) string {
	patience := 2 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		patience = max(time.Until(deadline), time.Millisecond)
	}
	return strconv.FormatInt(patience.Milliseconds()+1, 10)
}

// maxTries limits how often a statement is tried.
const maxTries = 8

// Again calls f, and calls it again after a short pause as long as retry returns true for
// its error.
func Again(ctx context.Context, retry func(error) bool, f func() error) error {
	for n := 1; ; n++ {
		err := f()
		if err == nil || n == maxTries || !retry(err) {
			return err
		}
		select {
		case <-time.After(mathrand.N(time.Millisecond << n)):
		case <-ctx.Done():
			return err
		}
	}
}

// writePostgres runs a write that sets the mark, which must be its own.
func writePostgres(ctx context.Context, db *sql.DB, mark, query string, args []any) (answer int64, changed bool, err error) {
	err = onConn(ctx, db, Settings{}, func(conn *conn) (bool, error) {
		err := conn.QueryRowContext(ctx, query, args...).Scan(&answer)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		if err == nil {
			// If ctx ended after the row was read, the driver may not report that the
			// commit failed.
			err = ctx.Err()
		}
		if err != nil {
			return isAborted(ctx, conn.Conn, err), err
		}
		open, err := isMarked(ctx, conn.Conn, mark)
		changed = !open && err == nil
		return open, cmp.Or(err, ctx.Err())
	})
	return answer, changed && err == nil, err
}

// ToPrimary begins a statement that reads. A pooler that sends reads to a standby, such
// as Pgpool-II, sends this one to the primary.
const ToPrimary = "/*NO LOAD BALANCE*/ "

// ErrStandby is returned for a write whose commit can't be verified, because a proxy sent
// the statement that verifies it to a standby. The write may have been committed.
var ErrStandby = errors.New("a proxy sends writes of a connection to the primary, and reads to a standby, so Snowkey cannot tell whether a write was committed")

// onStandby is 'on' on a standby. Before PostgreSQL 14, there is no in_hot_standby, but the
// transactions of a standby are read-only.
const onStandby = "COALESCE(current_setting('in_hot_standby', true), current_setting('transaction_read_only', true))"

// isMarked reports whether the transaction that set the mark is still open. We can tell
// because the mark disappears at the end of the transaction. A standby can't tell, because
// it doesn't know the transaction. Only if the first statement doesn't prove the commit does
// the second find out why. Drivers send the first one unprepared, in 1 round trip, not 2.
func isMarked(ctx context.Context, conn *sql.Conn, mark string) (bool, error) {
	proof, err := conn.ExecContext(ctx, ToPrimary+"SELECT 1 WHERE current_setting('snowkey.write', true) IS DISTINCT FROM '"+mark+"' AND "+onStandby+" = 'off'")
	if err != nil {
		return false, err
	}
	if n, err := proof.RowsAffected(); err == nil && n == 1 {
		return false, nil
	}
	var now, standby sql.Null[string]
	err = conn.QueryRowContext(ctx, ToPrimary+"SELECT current_setting('snowkey.write', true), "+onStandby).Scan(&now, &standby)
	if err == nil && standby.V == "on" {
		err = ErrStandby
	}
	return now.V == mark, err
}

// isAborted reports whether the error of a statement has aborted a transaction that was
// already open before it. That happens with a read-only transaction, for example.
func isAborted(ctx context.Context, conn *sql.Conn, err error) bool {
	if sqldialect.SQLState(err) == "" {
		return false // the error isn't from the server
	}
	var one int
	return sqldialect.SQLState(conn.QueryRowContext(ctx, "SELECT 1").Scan(&one)) == aborted
}

// aborted is the error of a statement in a transaction that an earlier error has aborted.
const aborted = "25P02"

// createPostgres runs a DO statement that creates a table under a lock. Compatible servers
// may not have the lock. In that case, it runs the statements in the DO statement one by
// one, and accepts that another process may be creating the same objects.
func createPostgres(ctx context.Context, db *sql.DB, statement string) error {
	err := runPostgres(ctx, db, statement)
	locked := doStatement.FindStringSubmatch(statement)
	if err == nil || locked == nil || !sqldialect.Postgres.Unknown(err) {
		return err
	}
	for each := range strings.SplitSeq(locked[1], ";\n") {
		if strings.TrimSpace(each) == "" {
			continue
		}
		err := runPostgres(ctx, db, each)
		if err != nil && !slices.Contains(createdByOther, sqldialect.SQLState(err)) {
			return err
		}
	}
	return nil
}

// doStatement finds the statements after the lock.
var doStatement = regexp.MustCompile(`(?s)\n\tPERFORM pg_advisory_xact_lock\([^\n]*;\n(.*)\nEND\n\$\$`)

// createdByOther has the errors of two sessions that create the same table or index at the
// same time.
var createdByOther = []string{"42P07", "23505", "42710"}

// runPostgres runs a statement that commits on its own and returns no rows.
func runPostgres(ctx context.Context, db *sql.DB, statement string) error {
	return onConn(ctx, db, Settings{}, func(conn *conn) (bool, error) {
		mark := rand.Text()
		if _, err := conn.ExecContext(ctx, "SELECT set_config('snowkey.write', $1, true)", mark); err != nil {
			return isAborted(ctx, conn.Conn, err), err
		}
		if open, err := isMarked(ctx, conn.Conn, mark); open || err != nil {
			return open, err
		}
		_, err := conn.ExecContext(ctx, statement)
		return false, err
	})
}

// writeMySQL runs a write on MySQL or MariaDB.
func writeMySQL(ctx context.Context, db *sql.DB, during Settings, autocommit func(answer int64) bool, query string) (answer int64, changed bool, err error) {
	err = onConn(ctx, db, during, func(conn *conn) (bool, error) {
		if open, err := conn.inTransaction(ctx); open || err != nil {
			return open, err
		}
		result, err := conn.ExecContext(ctx, query)
		if err != nil {
			return false, err
		}
		if answer, err = result.LastInsertId(); err != nil {
			return false, err
		}
		if autocommit == nil || !autocommit(answer) {
			if err := conn.commit(ctx); err != nil {
				return false, err
			}
		}
		n, err := result.RowsAffected()
		changed = n > 0
		return false, err
	})
	return answer, changed && err == nil, err
}

// inTransaction reports whether a session of MySQL has an open transaction, in which case
// err is not nil either. Its statement fails inside a transaction. Otherwise it only
// affects the next statement, for which it overrides the session's isolation level and
// read-only default.
func (c *conn) inTransaction(ctx context.Context) (open bool, err error) {
	_, err = c.ExecContext(ctx, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE")
	const any, xa = 1568, 1399
	n := sqldialect.Number(err)
	return n == any || n == xa, err
}

func (c *conn) commit(ctx context.Context) error {
	_, err := c.ExecContext(ctx, "COMMIT AND NO CHAIN NO RELEASE")
	return err
}

// writeSQLite runs a write on SQLite. If the connection has an open transaction, it
// returns an error but doesn't discard the connection, because closing the connection of
// an in-memory database would destroy the database.
func writeSQLite(ctx context.Context, db *sql.DB, query string, args []any) (answer int64, changed bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, false, err
	}
	defer conn.Close()
	answer, changed, err = runSQLite(ctx, conn, query, args)
	// Once ctx has ended, we can't rely on the driver's errors. It may report an error
	// for a statement that SQLite has executed, or no error for one that was skipped,
	// and that includes BEGIN and COMMIT.
	if errors.Is(err, errOpen) {
		return 0, false, err
	}
	if err = cmp.Or(ctx.Err(), err); err != nil {
		err = errors.Join(err, rollback(ctx, conn))
	}
	return answer, changed && err == nil, err
}

func runSQLite(ctx context.Context, conn *sql.Conn, query string, args []any) (answer int64, changed bool, err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		if strings.Contains(err.Error(), "within a transaction") {
			err = fmt.Errorf("%w: %w", errOpen, err)
		}
		return 0, false, err
	}
	err = conn.QueryRowContext(ctx, query, args...).Scan(&answer)
	if changed = err == nil; err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, false, err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return answer, changed, err
}

// rollback ends the transaction even if ctx has already ended. If that fails, it
// discards the connection.
func rollback(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		discard(conn)
		return err
	}
	return nil
}
