// Package sqlsession runs the SQL statements of a store on connections that are shared
// with the application, and verifies that every write was really committed. It also
// hides the differences between databases, such as the syntax of parameters and table
// names, and the queries that inspect a table.
//
// A *sql.DB may hand us a connection on which the application has changed settings. For
// instance, autocommit may be off, a transaction may be open, or completion_type may be
// CHAIN, in which case each COMMIT starts the next transaction. In such a session the
// server may report success for a write that isn't committed, and that it rolls back
// when the connection is closed.
//
// That's why each function runs its write on a single connection and verifies the
// commit. The number of round trips per write is then:
//
//	PostgreSQL       2  the write leaves a mark in its transaction, and a read shows whether that transaction is over
//	MySQL, MariaDB   2  SET TRANSACTION fails inside a transaction; the write follows. 3 with autocommit=0: a COMMIT
//	SQLite           3  BEGIN IMMEDIATE, the write, COMMIT, in the process itself
//
// A connection with an open transaction is discarded, and the write is tried again on
// another one. Note that a *sql.DB may discard connections on its own at any time, too.
package sqlsession

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/failpoint"
)

// An Error is returned if writes aren't possible on the connections of the application.
type Error struct {
	Setting string // "open transaction"
	Remedy  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("the connections of the *sql.DB have an %s; %s", e.Setting, e.Remedy)
}

var errOpen = &Error{
	Setting: "open transaction",
	Remedy:  "end each transaction before its connection returns to the pool, use db.BeginTx instead of BEGIN statements, or give the store a *sql.DB of its own",
}

// maxDiscards limits how many connections a single write may discard.
const maxDiscards = 8

// onConn runs f on a connection. If f reports that the connection has an open
// transaction, onConn discards the connection and tries again with another one. It also
// discards a connection to a server that has left its cluster or accepts no writes,
// because the pool would otherwise use it again.
func onConn(ctx context.Context, db *sql.DB, during Settings, f func(*conn) (open bool, err error)) error {
	for range maxDiscards {
		c, err := take(ctx, db)
		if err != nil {
			return err
		}
		var open bool
		if err = during.apply(ctx, c.Conn); err == nil {
			open, err = f(c)
		}
		open = open || SQLState(err) == aborted
		broken := open || HasLeft(err) || isReadOnly(err) || during.restore(ctx, c.Conn) != nil
		if gone := c.done(db, err, broken); !open {
			return errors.Join(err, gone)
		}
	}
	return errOpen
}

// isReadOnly reports whether err means that the server or the session accepts no writes,
// perhaps because another server has become the primary.
func isReadOnly(err error) bool {
	switch Number(err) {
	case 1290, 1792, 1836:
		return true
	}
	return SQLState(err) == "25006"
}

// Settings are settings of a session that a call changes, and restores before it returns
// the connection to the *sql.DB. The zero value changes none.
type Settings struct {
	Apply, Restore string // statements
}

func (s Settings) apply(ctx context.Context, conn *sql.Conn) error {
	if s.Apply == "" {
		return nil
	}
	_, err := conn.ExecContext(ctx, s.Apply)
	return err
}

// restore doesn't depend on whether ctx has ended. If it returns an error, the connection
// must not be used again.
func (s Settings) restore(ctx context.Context, conn *sql.Conn) error {
	if s.Restore == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, err := conn.ExecContext(ctx, s.Restore)
	return err
}

// discard closes the connection instead of returning it to the pool.
func discard(conn *sql.Conn) {
	conn.Raw(func(any) error { return driver.ErrBadConn })
	conn.Close()
}

// closed returns the connection to the *sql.DB. Errors that mean that the connection is
// broken are ignored, since the statement has already reported the problem.
func closed(conn *sql.Conn) error {
	if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) && !errors.Is(err, driver.ErrBadConn) {
		return err
	}
	return nil
}

// Read runs f on a connection, for statements that only read. On MySQL with autocommit=0,
// they would begin a transaction, which would keep an old snapshot and, with SERIALIZABLE,
// locks. So Read ends it, but not one that the application began.
func (d Dialect) Read(ctx context.Context, db *sql.DB, during Settings, f func(*sql.Conn) error) error {
	return onConn(ctx, db, during, func(c *conn) (open bool, err error) {
		if d == MySQL && c.mode == unknown {
			c.mode = commits
			var autocommit bool
			if err := c.QueryRowContext(ctx, "SELECT @@autocommit").Scan(&autocommit); err != nil {
				return false, err
			}
			if !autocommit {
				c.mode = begins
			}
		}
		if c.mode != begins {
			return false, f(c.Conn)
		}
		if open, err := c.inTransaction(ctx); open || err != nil {
			return open, err
		}
		if err := f(c.Conn); err != nil {
			return false, err
		}
		return false, c.commit(ctx)
	})
}

// HasLeft reports whether err means that the server isn't in the part of its cluster that
// has the majority, so that other servers of the cluster may go on without it.
func HasLeft(err error) bool {
	switch Number(err) {
	case 1047, // Galera: the server is not ready, or not in the primary component
		1180,             // Galera: it left the primary component during the commit
		1231,             // Group Replication: the member is read-only, see lease/sqlstore
		3796, 3797, 3798: // Group Replication: the member cannot wait for the others
		return true
	}
	return false
}

// WritePostgres runs a write that returns one number. changed is false if no row was
// changed. The write must evaluate set_config('snowkey.write', mark, true), and each
// write needs a mark of its own.
func WritePostgres(ctx context.Context, db *sql.DB, mark, query string, args []any) (answer int64, changed bool, err error) {
	err = onConn(ctx, db, Settings{}, func(conn *conn) (bool, error) {
		err := conn.QueryRowContext(ctx, failpoint.Statement(ctx, query), args...).Scan(&answer)
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

// Patience returns PostgreSQL's lock_timeout for a write, in milliseconds. It's the
// time until ctx ends, or 2 s if ctx has no deadline.
func Patience(ctx context.Context) string {
	patience := 2 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		patience = max(time.Until(deadline), time.Millisecond)
	}
	return strconv.FormatInt(patience.Milliseconds()+1, 10)
}

// ToPrimary begins a statement that reads. A pooler that sends reads to a standby, such
// as Pgpool-II, sends this one to the primary.
const ToPrimary = "/*NO LOAD BALANCE*/ "

// ErrStandby is returned for a write whose commit can't be verified, because a proxy sent
// the statement that verifies it to a standby. The write may have been committed.
var ErrStandby = errors.New("a proxy sends writes of a connection to the primary, and reads to a standby, so Snowkey cannot tell whether a write was committed")

// markText reads the mark, and whether the server is a standby. Before PostgreSQL 14,
// there is no in_hot_standby, but the transactions of a standby are read-only.
const markText = ToPrimary + "SELECT current_setting('snowkey.write', true), COALESCE(current_setting('in_hot_standby', true), current_setting('transaction_read_only', true))"

// isMarked reports whether the transaction that set the mark is still open. We can tell
// because the mark disappears at the end of the transaction. A standby can't tell, because
// it doesn't know the transaction.
func isMarked(ctx context.Context, conn *sql.Conn, mark string) (bool, error) {
	var now, standby sql.Null[string]
	err := conn.QueryRowContext(ctx, markText).Scan(&now, &standby)
	if err == nil && standby.V == "on" {
		err = ErrStandby
	}
	return now.V == mark, err
}

// isAborted reports whether the error of a statement has aborted a transaction that was
// already open before it. That happens with a read-only transaction, for example.
func isAborted(ctx context.Context, conn *sql.Conn, err error) bool {
	if SQLState(err) == "" {
		return false // the error isn't from the server
	}
	var one int
	return SQLState(conn.QueryRowContext(ctx, "SELECT 1").Scan(&one)) == aborted
}

// aborted is the error of a statement in a transaction that an earlier error has aborted.
const aborted = "25P02"

// createPostgres runs a DO statement that creates a table under a lock. Compatible servers
// may not have the lock. In that case, it runs the statements in the DO statement one by
// one, and accepts that another process may be creating the same objects.
func createPostgres(ctx context.Context, db *sql.DB, statement string) error {
	err := runPostgres(ctx, db, statement)
	locked := doStatement.FindStringSubmatch(statement)
	if err == nil || locked == nil || !Postgres.Unknown(err) {
		return err
	}
	for each := range strings.SplitSeq(locked[1], ";\n") {
		if strings.TrimSpace(each) == "" {
			continue
		}
		err := runPostgres(ctx, db, each)
		if err != nil && !slices.Contains(createdByOther, SQLState(err)) {
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

// WriteMySQL runs a write on MySQL or MariaDB. changed is false if no row was changed.
// To find out whether autocommit was on, WriteMySQL calls commits with the result of
// the write. If it was off, or if commits is nil, WriteMySQL sends a COMMIT.
func WriteMySQL(ctx context.Context, db *sql.DB, during Settings, commits func(sql.Result) bool, query string, args []any) (result sql.Result, changed bool, err error) {
	err = onConn(ctx, db, during, func(conn *conn) (bool, error) {
		if open, err := conn.inTransaction(ctx); open || err != nil {
			return open, err
		}
		result, err = conn.ExecContext(ctx, query, args...)
		if err != nil {
			return false, err
		}
		if commits == nil || !commits(result) {
			if err := conn.commit(ctx); err != nil {
				return false, err
			}
		}
		n, err := result.RowsAffected()
		changed = n > 0
		return false, err
	})
	return result, changed && err == nil, err
}

// inTransaction reports whether a session of MySQL has an open transaction, in which case
// err is not nil either. Its statement fails inside a transaction. Otherwise it only
// affects the next statement, for which it overrides the session's isolation level and
// read-only default.
func (c *conn) inTransaction(ctx context.Context) (open bool, err error) {
	_, err = c.ExecContext(ctx, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE")
	const any, xa = 1568, 1399
	n := Number(err)
	return n == any || n == xa, err
}

func (c *conn) commit(ctx context.Context) error {
	_, err := c.ExecContext(ctx, "COMMIT AND NO CHAIN NO RELEASE")
	return err
}

// WriteSQLite runs a write that returns one number. changed is false if no row was
// changed. SQLite doesn't need a mark, so that parameter is ignored. If the connection
// has an open transaction, WriteSQLite returns an error but doesn't discard the
// connection, because closing the connection of an in-memory database would destroy the
// database.
func WriteSQLite(ctx context.Context, db *sql.DB, _, query string, args []any) (answer int64, changed bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, false, err
	}
	defer conn.Close()
	answer, changed, err = writeSQLite(ctx, conn, query, args)
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

func writeSQLite(ctx context.Context, conn *sql.Conn, query string, args []any) (answer int64, changed bool, err error) {
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

// ToASCII returns text in the form in which we store it. It has to be ASCII, because if
// a connection doesn't use the character set that the driver assumes, all other
// characters get converted. The same name would then be stored in two ways. An empty
// string is stored as "-", because MariaDB can be configured to store empty strings as
// NULL.
func ToASCII(text string) string {
	switch text {
	case "":
		return "-"
	case "-":
		return `\x2d`
	}
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}

// FromASCII is the inverse of [ToASCII]. It returns s unchanged if ToASCII can't have
// returned it.
func FromASCII(s string) string {
	if s == "-" {
		return ""
	}
	if text, err := strconv.Unquote(`"` + s + `"`); err == nil {
		return text
	}
	return s
}

// SQLState returns the SQLSTATE of a driver's error for PostgreSQL, or "".
func SQLState(err error) string {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return e.SQLState()
	}
	return ""
}

// Unknown reports whether err means that the server doesn't have, or doesn't show to
// this role, a variable, a function or a catalog that a statement reads. The tables of a
// store are not among these; see [Dialect.Missing].
func (d Dialect) Unknown(err error) bool {
	switch d {
	case Postgres:
		switch text := err.Error(); SQLState(err) {
		case "42883", "42704": // no such function; no such type or setting
			return true
		case "0A000": // not supported, which PostgreSQL also says of a cached plan
			return strings.Contains(text, "unimplemented")
		case "42501", "42P01": // no privilege; no such table
			return strings.Contains(text, " pg_") || strings.Contains(text, `"pg_`)
		case "42703": // no such column
			return systemColumn.MatchString(text)
		}
	case MySQL:
		switch Number(err) {
		case 1193, 1109, 1305: // no such variable; no such table of the information schema; no such function
			return true
		case 1142, 1146: // no privilege; no such table
			return clusterTable.MatchString(err.Error())
		}
	}
	return false
}

// clusterTable finds the tables in which a server describes its cluster.
var clusterTable = regexp.MustCompile(`wsrep_cluster|replication_group_member|global_variable`)

// systemColumn finds the names of the catalogs' columns that we read. They begin with
// letters that depend on the catalog.
var systemColumn = regexp.MustCompile(`\b(xm[a-z]+|rel[a-z]+|att[a-z]+|ad[a-z]+|tg[a-z]+|ev_[a-z]+)\b`)

// Missing reports whether err means that a table, or its schema, doesn't exist.
func (d Dialect) Missing(err error) bool {
	switch d {
	case Postgres:
		state := SQLState(err)
		return (state == "42P01" || state == "3F000") && !d.Unknown(err)
	case MySQL:
		// MySQL returns the same error when it can't create an internal temporary table.
		return Number(err) == 1146 && !d.Unknown(err) && !strings.Contains(err.Error(), "/#sql")
	}
	return strings.Contains(err.Error(), "no such table")
}

// Number returns the number of a MySQL error, or 0 if err isn't an error of
// go-sql-driver/mysql. It uses reflection to read the field Number of the driver's
// error type, so that we don't have to import the driver.
func Number(err error) uint16 {
	for err != nil {
		v := reflect.ValueOf(err)
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() == reflect.Struct {
			if f := v.FieldByName("Number"); f.IsValid() && f.Kind() == reflect.Uint16 {
				return uint16(f.Uint())
			}
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				if n := Number(e); n != 0 {
					return n
				}
			}
			return 0
		}
		err = errors.Unwrap(err)
	}
	return 0
}
