package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A tally counts the traffic on all connections of a *sql.DB.
type tally struct {
	connects   atomic.Int64 // successful ones only
	statements atomic.Int64 // including BEGIN, COMMIT, ROLLBACK and statements that failed
	failed     atomic.Int64 // statements that failed
	prepares   atomic.Int64 // including those of the driver's statement cache
	commits    atomic.Int64 // COMMITs, and writes outside of a transaction
	trips      atomic.Int64 // network round trips, except those needed to connect

	onConnect func() // called after each connect; may be nil
}

// A usage is a snapshot of a tally.
type usage struct{ connects, statements, failed, prepares, commits, trips int64 }

func (t *tally) now() usage {
	return usage{t.connects.Load(), t.statements.Load(), t.failed.Load(), t.prepares.Load(), t.commits.Load(), t.trips.Load()}
}

func (c usage) plus(d usage) usage {
	return usage{c.connects + d.connects, c.statements + d.statements, c.failed + d.failed,
		c.prepares + d.prepares, c.commits + d.commits, c.trips + d.trips}
}

func (c usage) minus(d usage) usage {
	return usage{c.connects - d.connects, c.statements - d.statements, c.failed - d.failed,
		c.prepares - d.prepares, c.commits - d.commits, c.trips - d.trips}
}

// each prints a count divided by n.
func each(count int64, n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(count)/float64(n))
}

// countedDB opens a *sql.DB whose connections are counted in t.
func countedDB(server dbtest.DB, t *tally) (*sql.DB, error) {
	var base driver.Connector
	switch server.Driver {
	case "pgx":
		cfg, err := pgx.ParseConfig(server.DSN)
		if err != nil {
			return nil, err
		}
		cfg.DialFunc = dialCounted
		cfg.Tracer = prepareCounter{t}
		base = stdlib.GetConnector(*cfg)
	case "mysql":
		cfg, err := mysqldriver.ParseDSN(server.DSN)
		if err != nil {
			return nil, err
		}
		cfg.DialFunc = dialCounted
		cfg.Logger = &mysqldriver.NopLogger{} // it would report every connection that an outage breaks
		if base, err = mysqldriver.NewConnector(cfg); err != nil {
			return nil, err
		}
	default:
		db, err := sql.Open(server.Driver, server.DSN)
		if err != nil {
			return nil, err
		}
		base = dsnConnector{db.Driver(), server.DSN}
		if err := db.Close(); err != nil {
			return nil, err
		}
	}
	return sql.OpenDB(countedConnector{base, t}), nil
}

type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

type countedConnector struct {
	base driver.Connector
	t    *tally
}

func (c countedConnector) Driver() driver.Driver { return c.base.Driver() }

func (c countedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	var line *wire
	conn, err := c.base.Connect(context.WithValue(ctx, wireKey{}, &line))
	if err != nil {
		return nil, err
	}
	if line != nil {
		line.t.Store(c.t)
	}
	c.t.connects.Add(1)
	if c.t.onConnect != nil {
		c.t.onConnect()
	}
	return &countedConn{Conn: conn, t: c.t}, nil
}

// A wire counts a round trip for each read that follows a write.
type wire struct {
	*net.TCPConn // embedded because the MySQL driver uses its SyscallConn to detect closed connections
	t            atomic.Pointer[tally]
	wrote        atomic.Bool
}

type wireKey struct{}

func dialCounted(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	tcp, ok := conn.(*net.TCPConn)
	line, counting := ctx.Value(wireKey{}).(**wire)
	if !ok || !counting {
		return conn, nil
	}
	*line = &wire{TCPConn: tcp}
	return *line, nil
}

func (w *wire) Write(b []byte) (int, error) {
	w.wrote.Store(true)
	return w.TCPConn.Write(b)
}

func (w *wire) Read(b []byte) (int, error) {
	if w.wrote.Swap(false) {
		if t := w.t.Load(); t != nil {
			t.trips.Add(1)
		}
	}
	return w.TCPConn.Read(b)
}

// A prepareCounter counts the statements that pgx prepares for its cache, which it does
// without going through database/sql.
type prepareCounter struct{ t *tally }

func (prepareCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (prepareCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (prepareCounter) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	return ctx
}
func (c prepareCounter) TracePrepareEnd(_ context.Context, _ *pgx.Conn, d pgx.TracePrepareEndData) {
	if !d.AlreadyPrepared {
		c.t.prepares.Add(1)
	}
}

// A countedConn counts the statements run on a connection, and otherwise passes all
// calls on to the driver.
type countedConn struct {
	driver.Conn
	t    *tally
	open bool // whether we're in a transaction
}

var (
	_ driver.ExecerContext      = (*countedConn)(nil)
	_ driver.QueryerContext     = (*countedConn)(nil)
	_ driver.ConnBeginTx        = (*countedConn)(nil)
	_ driver.ConnPrepareContext = (*countedConn)(nil)
	_ driver.SessionResetter    = (*countedConn)(nil)
	_ driver.Validator          = (*countedConn)(nil)
	_ driver.Pinger             = (*countedConn)(nil)
	_ driver.NamedValueChecker  = (*countedConn)(nil)
)

var write = regexp.MustCompile(`(?i)\bINSERT\s+INTO\b|\bDELETE\s+FROM\b|\bUPDATE\s+\S+\s+((AS\s+)?\w+\s+)?SET\b|^\s*(CREATE|ALTER|DROP)\b`)

// did counts a statement that has finished.
func (c *countedConn) did(text string, err error) {
	if err == driver.ErrSkip { // database/sql will prepare it instead
		return
	}
	c.t.statements.Add(1)
	if err != nil {
		c.t.failed.Add(1)
		return
	}
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch strings.ToUpper(strings.TrimRight(word, ";")) {
	case "BEGIN", "START":
		c.open = true
	case "COMMIT", "END":
		c.open = false
		c.t.commits.Add(1)
	case "ROLLBACK":
		c.open = false
	default:
		if !c.open && write.MatchString(text) {
			c.t.commits.Add(1)
		}
	}
}

func (c *countedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	execer, ok := c.Conn.(driver.ExecerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	result, err := execer.ExecContext(ctx, query, args)
	c.did(query, err)
	return result, err
}

func (c *countedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	queryer, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	rows, err := queryer.QueryContext(ctx, query, args)
	c.did(query, err)
	return rows, err
}

func (c *countedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.t.prepares.Add(1)
	var stmt driver.Stmt
	var err error
	if preparer, ok := c.Conn.(driver.ConnPrepareContext); ok {
		stmt, err = preparer.PrepareContext(ctx, query)
	} else {
		stmt, err = c.Conn.Prepare(query)
	}
	if err != nil {
		return nil, err
	}
	return &countedStmt{stmt, c, query}, nil
}

func (c *countedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	beginner, ok := c.Conn.(driver.ConnBeginTx)
	if !ok {
		return nil, errors.New("bench: the driver has no BeginTx")
	}
	tx, err := beginner.BeginTx(ctx, opts)
	if c.did("BEGIN", err); err != nil {
		return nil, err
	}
	return countedTx{tx, c}, nil
}

func (c *countedConn) ResetSession(ctx context.Context) error {
	if resetter, ok := c.Conn.(driver.SessionResetter); ok {
		return resetter.ResetSession(ctx)
	}
	return nil
}

func (c *countedConn) IsValid() bool {
	validator, ok := c.Conn.(driver.Validator)
	return !ok || validator.IsValid()
}

func (c *countedConn) Ping(ctx context.Context) error {
	if pinger, ok := c.Conn.(driver.Pinger); ok {
		return pinger.Ping(ctx)
	}
	return nil
}

func (c *countedConn) CheckNamedValue(v *driver.NamedValue) error { return check(c.Conn, v) }

func check(conn any, v *driver.NamedValue) error {
	if checker, ok := conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type countedTx struct {
	driver.Tx
	c *countedConn
}

func (t countedTx) Commit() error {
	err := t.Tx.Commit()
	t.c.did("COMMIT", err)
	return err
}

func (t countedTx) Rollback() error {
	err := t.Tx.Rollback()
	t.c.did("ROLLBACK", err)
	return err
}

type countedStmt struct {
	driver.Stmt
	c     *countedConn
	query string
}

var (
	_ driver.StmtExecContext   = (*countedStmt)(nil)
	_ driver.StmtQueryContext  = (*countedStmt)(nil)
	_ driver.NamedValueChecker = (*countedStmt)(nil)
)

func (s *countedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	execer, ok := s.Stmt.(driver.StmtExecContext)
	if !ok {
		return nil, errors.New("bench: the driver's statements have no ExecContext")
	}
	result, err := execer.ExecContext(ctx, args)
	s.c.did(s.query, err)
	return result, err
}

func (s *countedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	queryer, ok := s.Stmt.(driver.StmtQueryContext)
	if !ok {
		return nil, errors.New("bench: the driver's statements have no QueryContext")
	}
	rows, err := queryer.QueryContext(ctx, args)
	s.c.did(s.query, err)
	return rows, err
}

func (s *countedStmt) CheckNamedValue(v *driver.NamedValue) error {
	if _, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return check(s.Stmt, v)
	}
	return check(s.c.Conn, v)
}

// milliseconds prints a time for a column of times from milliseconds to seconds.
func milliseconds(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1e3)
}
