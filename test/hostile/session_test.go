package hostile

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A session says what the connections of a program are like.
type session struct {
	params  map[string]string // of the DSN
	init    []string          // statements that each new connection runs
	each    []string          // statements of which each new connection runs the next one
	noReset bool              // hide the driver's reset of used connections
}

// connect opens a database whose connections are as s says and live for 0.5 s.
func (s session) connect(t testing.TB, db dbtest.DB) *sql.DB {
	t.Helper()
	base, err := sql.Open(db.Driver, db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	drv := base.Driver()
	base.Close()
	dsn, err := withParams(db, s.params)
	if err != nil {
		t.Fatal(err)
	}
	var connector driver.Connector = opener{drv, dsn}
	if d, ok := drv.(driver.DriverContext); ok {
		if connector, err = d.OpenConnector(dsn); err != nil {
			t.Fatal(err)
		}
	}
	conn := sql.OpenDB(&initialised{Connector: connector, session: s})
	conn.SetConnMaxLifetime(recycled)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// opener is the connector of a driver that has none.
type opener struct {
	driver driver.Driver
	dsn    string
}

func (o opener) Connect(context.Context) (driver.Conn, error) { return o.driver.Open(o.dsn) }
func (o opener) Driver() driver.Driver                        { return o.driver }

// initialised is a connector whose connections run statements first.
type initialised struct {
	driver.Connector
	session session
	opened  atomic.Int64 // how many connections
}

func (c *initialised) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	statements := c.session.init
	if n := len(c.session.each); n > 0 {
		statements = append(slices.Clone(statements), c.session.each[int(c.opened.Add(1))%n])
	}
	for _, statement := range statements {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil {
			conn.Close()
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
	}
	if c.session.noReset {
		return withoutReset{conn.(fullConn)}, nil
	}
	return conn, nil
}

func (c *initialised) Close() error {
	if closer, ok := c.Connector.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// fullConn is what database/sql uses of the drivers here, without
// driver.SessionResetter and driver.Validator.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
}

// withoutReset hides that a driver can reset a session. When the pool uses a connection
// again, the standard driver of pgx closes it if the application left a transaction
// open. Other drivers, such as lib/pq, do not.
type withoutReset struct{ fullConn }
