package segmentstore

import (
	"context"
	"database/sql"
	_ "embed" // for the DDL
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen/segment"
	"github.com/snowkey-go/snowkey/internal/sqlsession"
)

// A dialect has the statements for one kind of database.
type dialect struct {
	ddl string // the statement that creates the table

	// fetch is the statement that reads and raises the bound. {table} stands for the
	// table, @min, @limit and @span for the fields of segment.Fetch, and @end for the
	// bound of a new name. @limit may be the largest integer, so no expression may
	// exceed it.
	fetch string

	// write runs the statement, and returns the start of the segment once the statement
	// has been committed. ok is false if the row has another protocol version. If there
	// are no numbers left, either ok is false or start is at least the limit.
	write func(ctx context.Context, db *sql.DB, mark, query string, values []any) (start int64, ok bool, err error)
}

//go:embed postgres.sql
var postgresDDL string

//go:embed mysql.sql
var mysqlDDL string

//go:embed sqlite.sql
var sqliteDDL string

var postgres = &dialect{
	ddl:   postgresDDL,
	write: sqlsession.WritePostgres,
	// The CTE named here changes three settings for this transaction only, so it also
	// works with poolers. They make the commit wait for the disk and limit the wait for
	// a locked row. The third one, snowkey.write, contains the mark that package
	// session uses to verify the commit.
	fetch: `WITH here AS MATERIALIZED (
	SELECT set_config('synchronous_commit', 'on', true), set_config('lock_timeout', @patience, true), set_config('snowkey.write', @mark, true))
INSERT INTO {table} AS segment (name, start, bound) SELECT @name, @min, @end FROM here
ON CONFLICT (name) DO UPDATE SET
	start = GREATEST(segment.bound, @min),
	bound = GREATEST(segment.bound, @min) + LEAST(@span, @limit - GREATEST(segment.bound, @min))
WHERE GREATEST(segment.bound, @min) < @limit AND segment.protocol = {protocol}
RETURNING start`,
}

var mysql = &dialect{
	ddl: mysqlDDL,
	// MySQL assigns from left to right, so we must not read a column after assigning
	// it. The first comment is only executed by MariaDB. MySQL has no way to limit the
	// wait for a row in a single statement.
	fetch: `/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */ INSERT INTO {table} (name, start, bound) VALUES (@name, LAST_INSERT_ID(@min), @end)
ON DUPLICATE KEY UPDATE
	start = IF(protocol = {protocol}, LAST_INSERT_ID(GREATEST(bound, @min)), start + 0 * LAST_INSERT_ID(-1)),
	bound = IF(protocol = {protocol}, GREATEST(bound, @min) + GREATEST(LEAST(@span, @limit - GREATEST(bound, @min)), 0), bound)`,
	write: func(ctx context.Context, db *sql.DB, _, query string, values []any) (start int64, ok bool, err error) {
		result, _, err := sqlsession.WriteMySQL(ctx, db, sqlsession.Settings{}, nil, query, values)
		if err != nil {
			return 0, false, err
		}
		start, err = result.LastInsertId()
		return start, start >= 0, err
	},
}

var sqlite = &dialect{
	ddl:   sqliteDDL,
	write: writeSQLite,
	fetch: `INSERT INTO {table} (name, start, bound) VALUES (@name, @min, @end)
ON CONFLICT (name) DO UPDATE SET
	start = MAX(bound, @min),
	bound = MAX(bound, @min) + MIN(@span, @limit - MAX(bound, @min))
WHERE MAX(bound, @min) < @limit AND protocol = {protocol}
RETURNING start`,
}

// writeSQLite returns a BlockedError if another transaction keeps SQLite from writing. It
// may be the caller's, which would wait for itself.
func writeSQLite(ctx context.Context, db *sql.DB, mark, query string, values []any) (start int64, ok bool, err error) {
	began := time.Now()
	start, ok, err = sqlsession.WriteSQLite(ctx, db, mark, query, values)
	// A driver may not say why a statement took until the end of ctx. Drivers have
	// no error in common, but this text is SQLite's.
	if err != nil && (errors.Is(ctx.Err(), context.DeadlineExceeded) || strings.Contains(err.Error(), "database is locked")) {
		err = &segment.BlockedError{
			Cause:  fmt.Sprintf("another transaction had the write lock of SQLite for %v", time.Since(began).Round(time.Millisecond)),
			Remedy: "take the numbers before the transaction writes, or keep them in another file",
			Err:    err,
		}
	}
	return start, ok, err
}
