// Package sqlsession runs a store's SQL statements on connections shared with the
// application, and verifies that every write was really committed. It also inspects the
// stores' tables. Anything that depends on the SQL dialect is in package sqldialect.
//
// The application may have changed settings on a connection before it returns to the
// *sql.DB and is handed to us. For instance, autocommit might be off, a transaction might
// still be open, or completion_type could be CHAIN, in which case each COMMIT starts the
// next transaction. In a session like this the server may report success for a write that
// isn't actually committed, and roll it back once the connection is closed.
//
// Each function therefore runs its write on a single connection and verifies the commit,
// which takes the following number of round trips:
//
//	PostgreSQL       2  the write leaves a mark in its transaction, and a read shows whether that transaction is over
//	MySQL, MariaDB   2  SET TRANSACTION fails inside a transaction; the write follows. 3 with autocommit=0: a COMMIT
//	SQLite           3  BEGIN IMMEDIATE, the write, COMMIT, in the process itself
//
// Connections with an open transaction are discarded, and the write is retried on another
// one. Note that a *sql.DB may discard connections on its own at any time, too.
package sqlsession

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

// errOpen is returned if writes aren't possible on the connections of the application.
var errOpen = errors.New("the connections of the *sql.DB have an open transaction; end each transaction before its connection returns to the pool, use db.BeginTx instead of BEGIN statements, or give the store a *sql.DB of its own")

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
		if during.Apply != "" {
			_, err = c.ExecContext(ctx, during.Apply)
		}
		if err == nil {
			open, err = f(c)
		}
		open = open || sqldialect.SQLState(err) == aborted
		broken := open || sqldialect.HasLeft(err) || sqldialect.ReadOnly(err) || during.restore(ctx, c.Conn) != nil
		if c.done(db, err, broken); !open {
			return err
		}
	}
	return errOpen
}

// Settings are settings of a session that a call changes, and restores before it returns
// the connection to the *sql.DB. The zero value changes none.
type Settings struct {
	Apply, Restore string // statements
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

// List returns the rows of a statement. dest returns pointers to where the columns of a row
// are stored.
func List[T any](ctx context.Context, conn *sql.Conn, query string, args []any, dest func(*T) []any) (all []T, err error) {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var t T
		if err := rows.Scan(dest(&t)...); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, rows.Err()
}

// Read runs f on a connection, for statements that only read. On MySQL with autocommit=0,
// they would begin a transaction, which would keep an old snapshot and, with SERIALIZABLE,
// locks. So Read ends it, but not one that the application began.
func Read(ctx context.Context, db *sql.DB, d sqldialect.Dialect, during Settings, f func(*sql.Conn) error) error {
	return onConn(ctx, db, during, func(c *conn) (open bool, err error) {
		if d.IsMySQL() && c.mode == unknown {
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
