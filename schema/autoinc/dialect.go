package autoinc

import (
	"context"
	"database/sql"
	"time"

	"github.com/snowkey-go/snowkey/schema/catalog"
)

// A dialect has everything that differs between the kinds of servers.
type dialect struct {
	plan    func(p *planner, ctx context.Context, conn *sql.Conn) error
	prepare func(a *applier, ctx context.Context) error // sets up the session of Apply

	lockTimeout time.Duration // the default for ApplyOptions

	// setting is a query for the session setting that decides how the server writes
	// definitions. The statement set changes it, and plain is the value that we need to
	// make a plan. All three are empty if the dialect has no such setting.
	setting, set, plain string

	begin string // begins a transaction, and excludes other writers where that's possible

	// These are for the progress table: a query for whether it exists, the type of its
	// text columns, and a clause that lets an INSERT update an existing row.
	exists, text, upsert string

	// The rest is for Verify, which reads the current columns and foreign keys.
	now        string
	references func(p *planner, ctx context.Context, conn *sql.Conn) error
	fold       bool     // whether foreign keys keep names in the spelling in which they were written
	empty      string   // what follows the table's name in an INSERT of a row without values
	modes      []string // the sql_modes to try that INSERT with; none if the server has no sql_mode
	sizes      string   // a query for the sizes of tables
	uniques    string   // a query for the columns of unique indexes
	conditions string   // a query for CHECK constraints
	overriding string   // lets an INSERT give the keys of an identity

	// How long a statement waits for a lock: a query, a statement that sets it, and the
	// value for a second.
	wait, setWait, second string

	immediate string // checks deferred constraints
}

const (
	onConflict  = "ON CONFLICT (plan, step) DO UPDATE SET state = excluded.state, detail = excluded.detail, at = CURRENT_TIMESTAMP"
	onDuplicate = "ON DUPLICATE KEY UPDATE state = VALUES(state), detail = VALUES(detail), at = CURRENT_TIMESTAMP"
)

var mysqlDialect = dialect{
	plan:    (*planner).planMySQL,
	prepare: (*applier).prepareMySQL, lockTimeout: 100 * time.Millisecond,
	setting: "SELECT @@SESSION.sql_mode", set: "SET SESSION sql_mode = %s", plain: mysqlMode,
	begin:  "BEGIN",
	exists: `SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {name}`,
	text:   "VARCHAR(100)", upsert: onDuplicate,
	now: mysqlNow,
	references: func(p *planner, ctx context.Context, conn *sql.Conn) error {
		my := newMySQLPlanner(p, conn)
		return my.read(ctx)
	},
	empty: " () VALUES ()",
	modes: []string{"", mysqlMode}, // without a strict mode, a missing key becomes 0 instead of an error
	sizes: mysqlSizes, uniques: mysqlUniques, conditions: mysqlConditions,
	wait: "SELECT @@SESSION.innodb_lock_wait_timeout", setWait: "SET SESSION innodb_lock_wait_timeout = %s", second: "1",
}

var postgresDialect = dialect{
	plan:    (*planner).planPostgres,
	prepare: (*applier).preparePostgres, lockTimeout: 100 * time.Millisecond,
	setting: "SELECT current_setting('search_path')", set: "SELECT set_config('search_path', %s, false)",
	begin:  "BEGIN",
	exists: `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = {schema} AND c.relname = {name}`,
	text:   "text", upsert: onConflict,
	now: postgresNow,
	references: func(p *planner, ctx context.Context, conn *sql.Conn) error {
		pg := newPostgresPlanner(p)
		return pg.read(ctx, conn)
	},
	empty: " DEFAULT VALUES", overriding: " OVERRIDING SYSTEM VALUE", immediate: "SET CONSTRAINTS ALL IMMEDIATE",
	sizes: postgresSizes, uniques: postgresUniques, conditions: postgresConditions,
	wait: "SELECT current_setting('lock_timeout')", setWait: "SELECT set_config('lock_timeout', '%s', false)", second: "1s",
}

var sqliteDialect = dialect{
	plan:    (*planner).planSQLite,
	prepare: (*applier).prepareSQLite, lockTimeout: 5 * time.Second,
	begin:  "BEGIN IMMEDIATE",
	exists: `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = {name} AND {schema} = 'main'`,
	text:   "TEXT", upsert: onConflict,
	now:        sqliteNow,
	references: (*planner).readSQLiteReferences,
	fold:       true,
	empty:      " DEFAULT VALUES", uniques: sqliteUniques,
	wait: "SELECT CAST(timeout AS TEXT) FROM pragma_busy_timeout", setWait: "PRAGMA busy_timeout = %s", second: "1000",
}

// syntax returns the dialect of the server.
func (s server) syntax() dialect {
	switch s.Dialect {
	case catalog.Postgres:
		return postgresDialect
	case catalog.SQLite:
		return sqliteDialect
	}
	return mysqlDialect
}
