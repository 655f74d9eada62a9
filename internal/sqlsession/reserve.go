package sqlsession

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/internal/leased"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

// Reserve reserves a connection of db for statements of stores, until release is called,
// which waits for a statement that is running.
// All callers that use the same db share one connection. The first statement takes it
// from db. If it breaks, the next statement takes another one.
//
// Without it, a transaction that waits for an id would also keep the store from renewing
// the lease that the id needs, if the transaction has the last connection of db.
//
// warning is not "" if db may open only one connection. Reserving it would leave none for
// the application, so Reserve has no effect then.
func Reserve(db *sql.DB) (release func(), warning string) {
	if db == nil {
		return func() {}, ""
	}
	if db.Stats().MaxOpenConnections == 1 {
		warning = "the *sql.DB may open only one connection, so ids stop while the application uses it for longer than Window; give the store a *sql.DB of its own, or raise SetMaxOpenConns"
	}
	keeping.Lock()
	defer keeping.Unlock()
	k := keeping.by[db]
	if k == nil {
		k = &kept{turn: make(chan struct{}, 1)}
		keeping.by[db] = k
	}
	k.users++
	return sync.OnceFunc(func() {
		keeping.Lock()
		k.users--
		last := k.users == 0
		if last {
			delete(keeping.by, db)
		}
		keeping.Unlock()
		if last {
			k.end()
		}
	}), warning
}

// keeping has the connections that are reserved.
var keeping = struct {
	sync.Mutex
	by map[*sql.DB]*kept
}{by: map[*sql.DB]*kept{}}

// kept is a reserved connection.
type kept struct {
	users   int           // guarded by keeping
	opening atomic.Bool   // whether the statement that has turn waits for a connection of the pool
	turn    chan struct{} // has a value while a statement is using the fields below
	ended   bool
	conn    *sql.Conn // nil before the first statement, and after it broke
	mode    mode
	used    time.Time // when the last statement ended
}

// end gives the connection back to the pool, after the statement that is using it.
func (k *kept) end() {
	k.turn <- struct{}{}
	k.ended = true
	if k.conn != nil {
		k.conn.Close()
		k.conn = nil
	}
	<-k.turn
}

// A mode is what we know about autocommit of a session on MySQL.
type mode int

const (
	unknown mode = iota
	commits      // a statement outside a transaction commits
	begins       // it begins a transaction
)

// A conn is a connection that one call uses.
type conn struct {
	*sql.Conn
	kept *kept // nil if the connection isn't reserved
	mode mode
}

// take returns the reserved connection of db, or one from its pool if none is reserved.
// If ctx ends because the application has all connections in use, the error is a
// [*leased.BlockedError].
func take(ctx context.Context, db *sql.DB) (*conn, error) {
	if db == nil {
		return nil, ErrNoDatabase
	}
	keeping.Lock()
	k := keeping.by[db]
	keeping.Unlock()
	began := time.Now()
	if k == nil {
		c, err := db.Conn(ctx)
		return &conn{Conn: c}, blocked(ctx, db, began, err)
	}
	if c, err := k.await(ctx, db); c != nil || err != nil {
		if k.opening.Load() {
			err = blocked(ctx, db, began, err)
		}
		return &conn{Conn: c}, err
	}
	// pgx asks the server, so this saves 1 of the 7 round trips of a start.
	if k.conn != nil && time.Since(k.used) > time.Second && !usable(ctx, k.conn) {
		discard(k.conn)
		k.conn = nil
	}
	if k.conn == nil {
		k.opening.Store(true)
		c, err := db.Conn(ctx)
		k.opening.Store(false)
		if err != nil {
			<-k.turn
			return nil, blocked(ctx, db, began, err)
		}
		k.conn, k.mode = c, unknown
	}
	return &conn{k.conn, k, k.mode}, nil
}

// await waits for the turn of the caller's statement. If the one before it takes long, for
// instance because it waits for a lock, await returns a connection of the pool instead, as
// soon as that has one.
func (k *kept) await(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	const long = 100 * time.Millisecond
	select {
	case k.turn <- struct{}{}:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(long):
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn *sql.Conn
		err  error
	}
	pooled := make(chan result, 1)
	go func() {
		c, err := db.Conn(ctx)
		pooled <- result{c, err}
	}()
	select {
	case r := <-pooled:
		return r.conn, r.err
	case k.turn <- struct{}{}:
		cancel()
		if r := <-pooled; r.err == nil {
			r.conn.Close()
		}
		return nil, nil
	}
}

// blocked returns a BlockedError in place of err if ctx ended while the application had
// all connections of db in use.
func blocked(ctx context.Context, db *sql.DB, began time.Time, err error) error {
	s := db.Stats()
	if err == nil || ctx.Err() == nil || s.MaxOpenConnections == 0 || s.InUse < s.MaxOpenConnections {
		return err
	}
	return &leased.BlockedError{
		Cause:  fmt.Sprintf("this process had all connections of the *sql.DB (%d) in use for %v", s.MaxOpenConnections, time.Since(began).Round(time.Millisecond)),
		Remedy: "raise SetMaxOpenConns, end transactions sooner, or give the store a *sql.DB of its own",
		Err:    err,
	}
}

// usable reports whether the server has not closed the connection since the last
// statement. It does what database/sql does before it uses a connection of its pool.
func usable(ctx context.Context, c *sql.Conn) bool {
	return c.Raw(func(driverConn any) error {
		if r, ok := driverConn.(driver.SessionResetter); ok {
			if err := r.ResetSession(ctx); errors.Is(err, driver.ErrBadConn) {
				return err
			}
		}
		if v, ok := driverConn.(driver.Validator); ok && !v.IsValid() {
			return driver.ErrBadConn
		}
		return nil
	}) == nil
}

// done gives the connection back after a call. If broken is set, it is discarded. A reserved
// connection is also discarded after an error, because the next statement might fail as
// well: the connection may be closed, or the application has left something behind, such as
// LOCK TABLES. It is kept after a conflict with another statement.
func (c *conn) done(db *sql.DB, err error, broken bool) {
	k := c.kept
	if k == nil {
		if broken {
			discard(c.Conn)
		}
		c.Conn.Close()
		return
	}
	defer func() { <-k.turn }()
	k.mode, k.used = c.mode, time.Now()
	switch {
	case broken, err != nil && !sqldialect.Conflict(err) && !sqldialect.Busy(err):
		discard(c.Conn)
	case k.ended, db.Stats().MaxOpenConnections == 1:
		c.Conn.Close()
	default:
		return
	}
	k.conn = nil
}
