package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/google/uuid"

	"github.com/snowkey-go/snowkey/idgen"
)

// mysql measures a MySQL or MariaDB, both through a direct connection and through one
// with a delay.
//
// Since MySQL's protocol has no batches, the only way to send several statements in one
// round trip is to put them all into one text. This can't be a prepared statement, and
// only works with the two settings below.
type mysql struct {
	pools        []*sql.DB
	direct, late *sql.Conn
	step         int64 // difference between two successive keys of a statement
}

func openMySQL(ctx context.Context, dsn string, o options) (_ server, err error) {
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config.MultiStatements, config.InterpolateParams = true, true
	var m mysql
	defer func() {
		if err != nil {
			m.close(ctx)
		}
	}()
	open := func(config *mysqldriver.Config) (*sql.Conn, error) {
		connector, err := mysqldriver.NewConnector(config)
		if err != nil {
			return nil, err
		}
		pool := sql.OpenDB(connector)
		m.pools = append(m.pools, pool)
		return pool.Conn(ctx)
	}
	if m.direct, err = open(config); err != nil {
		return nil, err
	}
	dial, network := delayed(new(net.Dialer).DialContext, o.delay), config.Net
	mysqldriver.RegisterDialContext("late", func(ctx context.Context, address string) (net.Conn, error) {
		return dial(ctx, network, address)
	})
	config.Net = "late"
	if m.late, err = open(config); err != nil {
		return nil, err
	}
	return m, m.direct.QueryRowContext(ctx, "SELECT @@auto_increment_increment").Scan(&m.step)
}

func (m mysql) close(context.Context) {
	for _, pool := range m.pools {
		pool.Close() // closes the connection as well
	}
}

func (m mysql) exec(ctx context.Context, statement string) error {
	_, err := m.direct.ExecContext(ctx, statement)
	return err
}

func (m mysql) describe(ctx context.Context) (text string, err error) {
	err = m.direct.QueryRowContext(ctx, `SELECT CONCAT(IF(VERSION() LIKE '%MariaDB%', '', 'MySQL '), VERSION(),
		', innodb_flush_log_at_trx_commit ', @@innodb_flush_log_at_trx_commit,
		', buffer pool ', @@innodb_buffer_pool_size DIV 1048576, ' MB')`).Scan(&text)
	return text, err
}

// onConnection runs functions in transactions of conn. We pass them the connection and
// not the transaction, because only the driver's connection has the keys of all
// statements.
func onConnection(conn *sql.Conn) transact[*sql.Conn] {
	return func(ctx context.Context, f func(*sql.Conn) error) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := f(conn); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
}

func (m mysql) jobs(pool *idgen.Pool, o options) []job {
	known := tables{name: "known", key: "BIGINT"}
	serial := func(name string) tables {
		return tables{name: name, key: "BIGINT", serial: " AUTO_INCREMENT"}
	}
	version7 := tables{name: "uuid", key: "BINARY(16)"}
	ours, theirs := snowkeys(pool), uuids(func(id uuid.UUID) any { return id[:] })

	graphs := func(conn *sql.Conn) []way {
		in := onConnection(conn)
		return []way{
			newWay("known keys: one text", 0, in, oneText(known, ours)),
			newWay("auto-increment: LastInsertId, then one text", 0, in, parentThenText(serial("last"), m.step)),
			newWay("auto-increment: LAST_INSERT_ID() in one text", 0, in, variable(serial("variable"), m.step)),
			newWay("UUIDv7: one text", 0, in, oneText(version7, theirs)),
		}
	}
	in := onConnection(m.direct)
	return []job{
		{perGraph, o.graphs, graphs(m.direct)},
		{perGraph + fmt.Sprintf(", %v of delay", o.delay), o.late, graphs(m.late)},
		{bulk, o.bulk, []way{
			newWay("known keys: INSERT of many rows", 0, in, manyRows(known, ours)),
			newWay("auto-increment: the same, LastInsertId", 0, in, manyRowsNumbered(serial("last"), m.step)),
			newWay("UUIDv7: INSERT of many rows", 0, in, manyRows(version7, theirs)),
		}},
	}
}
