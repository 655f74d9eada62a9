package segmentstore

import (
	_ "embed" // for the DDL
	"fmt"
)

// A dialect says how one kind of database grants numbers.
type dialect struct {
	ddl   string // makes the table
	quote string // encloses a name

	// fetch is the statement, with @names for parameters and {table} for the table:
	// @min, @limit and @span are those of idgen.SegmentFetch, and @end is the bound
	// of a name that is made. It reads and moves the bound in one step, and never
	// computes beyond @limit, because there are no numbers behind the largest.
	fetch string

	// param is the n-th parameter, typed, because the simple protocol and
	// untyped placeholders leave it to the server to guess.
	param func(n int, text bool) string

	// returning says whether the statement answers with a row, or with none if
	// nothing is left. If not, it answers with the number that LAST_INSERT_ID was
	// called with.
	returning bool
}

//go:embed postgres.sql
var postgresDDL string

//go:embed mysql.sql
var mysqlDDL string

//go:embed sqlite.sql
var sqliteDDL string

var postgres = &dialect{
	ddl:   postgresDDL,
	quote: `"`,
	// Reading from here has the statement's own commit wait for the disk where the
	// server's default is not to. A transaction-local setting passes through poolers.
	fetch: `WITH here AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true))
INSERT INTO {table} AS segment (name, start, bound) SELECT @name, @min, @end FROM here
ON CONFLICT (name) DO UPDATE SET
	start = GREATEST(segment.bound, @min),
	bound = GREATEST(segment.bound, @min) + LEAST(@span, @limit - GREATEST(segment.bound, @min))
WHERE GREATEST(segment.bound, @min) < @limit
RETURNING start`,
	param: func(n int, text bool) string {
		if text {
			return fmt.Sprintf("$%d::text", n)
		}
		return fmt.Sprintf("$%d::bigint", n)
	},
	returning: true,
}

var mysql = &dialect{
	ddl:   mysqlDDL,
	quote: "`",
	// MySQL assigns from left to right: no column is read behind its assignment.
	fetch: `INSERT INTO {table} (name, start, bound) VALUES (@name, LAST_INSERT_ID(@min), @end)
ON DUPLICATE KEY UPDATE
	start = LAST_INSERT_ID(GREATEST(bound, @min)),
	bound = GREATEST(bound, @min) + GREATEST(LEAST(@span, @limit - GREATEST(bound, @min)), 0)`,
	param: func(_ int, text bool) string {
		if text {
			return "?"
		}
		return "CAST(? AS SIGNED)"
	},
}

var sqlite = &dialect{
	ddl:   sqliteDDL,
	quote: `"`,
	fetch: `INSERT INTO {table} (name, start, bound) VALUES (@name, @min, @end)
ON CONFLICT (name) DO UPDATE SET
	start = MAX(bound, @min),
	bound = MAX(bound, @min) + MIN(@span, @limit - MAX(bound, @min))
WHERE MAX(bound, @min) < @limit
RETURNING start`,
	param:     func(int, bool) string { return "?" },
	returning: true,
}
