package sqlstore

import (
	"database/sql"
	_ "embed" // for the DDL
	"fmt"
	"strings"
)

// A dialect says how one kind of database expresses what statements.go leaves
// open.
type dialect struct {
	ddl   []string // makes the tables
	quote string   // encloses a name
	words map[string]string

	// param is the n-th parameter, typed, because the simple protocol and
	// untyped placeholders leave it to the server to guess.
	param func(n int, text bool) string

	// returning says whether an UPDATE answers with a row. If not, it answers
	// with the number that LAST_INSERT_ID was called with.
	returning bool

	// isolation is that of Bear's transaction, in which an update that waited for
	// another goes on behind it.
	isolation sql.IsolationLevel

	// oneClock says that no server takes the place of this one.
	oneClock bool

	// ask is a query that a store asks its server once, and learn turns the
	// answer into two more words: the current fingerprint of the database, and 1
	// or 0 for whether commits may be lost unnoticed.
	ask   string
	learn func(answer string) (fingerprint, volatile string)

	examine string // finds settings that endanger leases
}

//go:embed postgres.sql
var postgresDDL string

//go:embed mysql.sql
var mysqlDDL string

//go:embed sqlite.sql
var sqliteDDL string

var postgres = &dialect{
	ddl:   []string{postgresDDL},
	quote: `"`,
	words: map[string]string{
		// The clock is read once, because it goes on within a statement. Reading it
		// also has the statement's own commit wait for the disk where the server's
		// default is not to. A transaction-local setting passes through poolers.
		"{here}": `WITH here AS MATERIALIZED (
	SELECT set_config('synchronous_commit', 'on', true), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) AS now)
`,
		"{now}":            "(SELECT now FROM here)",
		"{answer now}":     "(SELECT now FROM here)",
		"{returning now}":  "RETURNING (SELECT now FROM here)",
		"{answer born}":    "GREATEST(born, @min)",
		"{returning born}": "RETURNING born - 1",
		"{or keep it}":     "ON CONFLICT DO NOTHING",
		"{div}":            "/",
		"{greatest}":       "GREATEST",
		"{least}":          "LEAST",
		"{random}":         "random()",
	},
	param: func(n int, text bool) string {
		if text {
			return fmt.Sprintf("$%d::text", n)
		}
		return fmt.Sprintf("$%d::bigint", n)
	},
	returning: true,
	isolation: sql.LevelReadCommitted,
	ask: `SELECT CASE WHEN has_function_privilege(to_regprocedure('pg_control_system()'), 'execute')
	AND has_function_privilege(to_regprocedure('pg_current_wal_lsn()'), 'execute')
	AND has_function_privilege(to_regprocedure('pg_walfile_name(pg_lsn)'), 'execute') THEN 'yes' ELSE 'no' END`,
	learn: func(permitted string) (fingerprint, volatile string) {
		if permitted != "yes" {
			return "'unknown'", "1"
		}
		// The cluster, and its timeline: the latter begins anew with every promotion
		// and every recovery to a point in time.
		return `((SELECT system_identifier FROM pg_control_system())::text || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))`, "0"
	},
	examine: examinePostgres,
}

var mysql = &dialect{
	ddl:   strings.Split(mysqlDDL, ";\n"),
	quote: "`",
	words: map[string]string{
		"{here}":           "",
		"{now}":            mysqlNow, // the time at which the statement began
		"{answer now}":     "LAST_INSERT_ID(" + mysqlNow + ")",
		"{returning now}":  "",
		"{answer born}":    "LAST_INSERT_ID(GREATEST(born, @min))",
		"{returning born}": "",
		"{or keep it}":     "ON DUPLICATE KEY UPDATE namespace = namespace", // IGNORE would forgive other errors too
		"{div}":            "DIV",
		"{greatest}":       "GREATEST",
		"{least}":          "LEAST",
		"{random}":         "RAND()",
	},
	param: func(_ int, text bool) string {
		if text {
			return "?"
		}
		return "CAST(? AS SIGNED)"
	},
	ask: "SELECT VERSION()",
	learn: func(version string) (fingerprint, volatile string) {
		fingerprint = "@@server_uuid"
		if strings.Contains(version, "MariaDB") {
			fingerprint = "CONCAT(@@hostname, ':', @@port, ':', @@server_id)"
		}
		// With a binary log, a commit that the log has lost is rolled back. MariaDB's
		// 3 is a stricter 1.
		return fingerprint, "(@@innodb_flush_log_at_trx_commit NOT IN (1, 3) OR @@log_bin = 1 AND @@sync_binlog <> 1)"
	},
	examine: examineMySQL,
}

// Not UNIX_TIMESTAMP or NOW: both err when the session's time zone ends its
// summer time.
const mysqlNow = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"

var sqlite = &dialect{
	ddl:   strings.Split(sqliteDDL, ";\n"),
	quote: `"`,
	words: map[string]string{
		"{here}":           "",
		"{now}":            sqliteNow,
		"{answer now}":     sqliteNow,
		"{returning now}":  "RETURNING " + sqliteNow,
		"{answer born}":    "MAX(born, @min)",
		"{returning born}": "RETURNING born - 1",
		"{or keep it}":     "ON CONFLICT DO NOTHING",
		"{div}":            "/",
		"{greatest}":       "MAX",
		"{least}":          "MIN",
		"{random}":         "random()",
	},
	param:     func(int, bool) string { return "?" },
	returning: true,
	oneClock:  true,
	// A file has no identity that a copy would not share.
	ask: "SELECT ''",
	learn: func(string) (fingerprint, volatile string) {
		return "'sqlite'", "(SELECT synchronous < 2 FROM pragma_synchronous)"
	},
	examine: examineSQLite,
}

// Milliseconds, for SQLite knows no finer time. It stands still within a
// statement. unixepoch('subsec') is shorter, and younger than RETURNING.
const sqliteNow = "(CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER) * 1000)"
