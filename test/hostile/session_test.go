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

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/idgen/segment/segmentstore"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A session defines what the connections of a program are like.
type session struct {
	dsn     string   // parameters that are added to the DSN
	init    []string // statements that are run on each new connection
	each    []string // statements of which each new connection runs just one, in turn
	noReset bool     // hide the driver's reset of connections that were used before
}

// connect opens a database whose connections have the properties of s, and are recycled.
func (s session) connect(t testing.TB, db dbtest.DB) *sql.DB {
	t.Helper()
	if s.dsn != "" {
		db = db.With(s.dsn)
	}
	base := dbtest.Must(sql.Open(db.Driver, db.DSN))(t)
	base.Close()
	connector := dbtest.Must(base.Driver().(driver.DriverContext).OpenConnector(db.DSN))(t)
	conn := sql.OpenDB(&initialised{Connector: connector, session: s})
	conn.SetConnMaxLifetime(recycled)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// initialised is a connector that runs statements on each connection before it is used.
type initialised struct {
	driver.Connector
	session session
	opened  atomic.Int64 // number of connections
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

// fullConn contains everything that database/sql uses of these drivers, except for
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

// withoutReset hides that a driver can reset sessions. If the application has left a
// transaction open, pgx's standard driver closes the connection before it is reused,
// whereas other drivers, such as lib/pq, don't.
type withoutReset struct{ fullConn }

// The application has left a transaction open on the only connection. What is written there
// isn't committed, so the store must write on another one. Leases don't notice it, because
// their connection is never the application's.
func TestOnlyConnectionIsInATransaction(t *testing.T) {
	t.Parallel()
	db := dbtest.Postgres(t)
	conn := session{noReset: true}.connect(t, db)
	conn.SetMaxOpenConns(1)
	conn.SetConnMaxLifetime(0)
	store := segmentstore.Postgres(conn)
	dbtest.NoError(t, store.Migrate(t.Context()))
	dbtest.Must(conn.Exec("BEGIN"))(t)
	start, err := store.Fetch(t.Context(), segment.Fetch{Name: "numbers", Min: 1, Span: 10, Limit: 1000})
	if rows := dbtest.Rows(t, db.Connect(t), "SELECT start, bound FROM snowkey_segment"); start != 1 || err != nil || !slices.Equal(rows, []string{"1 11"}) {
		t.Errorf("granted from %d on, %v, and other connections see the rows %q", start, err, rows)
	}
}
