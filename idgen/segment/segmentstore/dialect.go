package segmentstore

import (
	"context"
	"database/sql"
	_ "embed" // for the DDL

	"github.com/snowkey-go/snowkey/internal/session"
)

// A dialect has the statements for one kind of database.
type dialect struct {
	session.Dialect
	ddl string // the statement that creates the table

	// fetch is the statement that reads and raises the bound, with {table} for the
	// table. @min, @limit and @span are the fields of segment.Fetch. @end is the bound of
	// a new name. No expression exceeds @limit, which may be the largest integer.
	fetch string

	// write runs the statement and returns the start of the segment after the
	// statement was committed. ok is false if the row has another version. If no number
	// is left, either ok is false or start is not below the limit.
	write func(ctx context.Context, db *sql.DB, mark, query string, values []any) (start int64, ok bool, err error)
}

//go:embed postgres.sql
var postgresDDL string

//go:embed mysql.sql
var mysqlDDL string

//go:embed sqlite.sql
var sqliteDDL string

var postgres = &dialect{
	Dialect: session.Postgres,
	ddl:     postgresDDL,
	write:   session.WritePostgres,
	// Reading from the CTE named here changes three settings for this transaction only,
	// so that it works with poolers. The commit waits for the disk. The wait for a locked
	// row is limited. The setting snowkey.write contains the mark with which package
	// session verifies the commit.
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
	Dialect: session.MySQL,
	ddl:     mysqlDDL,
	// MySQL assigns from left to right, so no column is read after its assignment.
	// Only MariaDB executes the first comment. MySQL cannot limit the wait for a row in
	// one statement.
	fetch: `/*M! SET STATEMENT innodb_lock_wait_timeout = 2 FOR */ INSERT INTO {table} (name, start, bound) VALUES (@name, LAST_INSERT_ID(@min), @end)
ON DUPLICATE KEY UPDATE
	start = IF(protocol = {protocol}, LAST_INSERT_ID(GREATEST(bound, @min)), start + 0 * LAST_INSERT_ID(-1)),
	bound = IF(protocol = {protocol}, GREATEST(bound, @min) + GREATEST(LEAST(@span, @limit - GREATEST(bound, @min)), 0), bound)`,
	write: func(ctx context.Context, db *sql.DB, _, query string, values []any) (start int64, ok bool, err error) {
		result, _, err := session.WriteMySQL(ctx, db, nil, query, values)
		if err != nil {
			return 0, false, err
		}
		start, err = result.LastInsertId()
		return start, start >= 0, err
	},
}

var sqlite = &dialect{
	Dialect: session.SQLite,
	ddl:     sqliteDDL,
	write:   session.WriteSQLite,
	fetch: `INSERT INTO {table} (name, start, bound) VALUES (@name, @min, @end)
ON CONFLICT (name) DO UPDATE SET
	start = MAX(bound, @min),
	bound = MAX(bound, @min) + MIN(@span, @limit - MAX(bound, @min))
WHERE MAX(bound, @min) < @limit AND protocol = {protocol}
RETURNING start`,
}
