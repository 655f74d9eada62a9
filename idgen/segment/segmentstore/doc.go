// Package segmentstore keeps the bounds of segments in the application's own
// database: PostgreSQL, MySQL, MariaDB or SQLite. It uses the *sql.DB of the
// application and imports no driver.
//
//	store := segmentstore.Postgres(db)
//	if err := store.Migrate(ctx); err != nil { … }
//	orders, err := segment.New(store, segment.Config{Name: "orders"})
//
// # The table
//
// The table is snowkey_segment, or the one that [Store.WithTable] chooses. It has a
// row for each name. The column bound contains the first number that was never granted.
// The column start, which is for people who read the table, contains the start of the
// last segment. Names are stored as ASCII with the escapes of Go, so sessions with
// different character sets find the same row.
//
// [Store.Migrate] creates the table if it is missing. Where the application may not
// create tables, run postgres.sql, mysql.sql or sqlite.sql of this package in your
// own migration. Replace {table} by the name and {protocol} by 2. The application
// needs SELECT, INSERT and UPDATE (start, bound), and UPDATE of the whole table on MySQL
// and MariaDB.
//
// If the table exists, Migrate only checks it, with one statement:
//
//	trigger, rule, row-level security, or an engine other than InnoDB  [*TableError]
//	a table of another protocol version                               [*VersionError]
//
// MySQL and MariaDB show triggers only to users with the TRIGGER privilege on the
// table. Call Migrate when the program starts. If you do not, the first fetch checks the
// table in the same way. In addition, each fetch from an existing row has the row's
// protocol version as a condition.
//
// # The statement
//
// A fetch is one INSERT that becomes an UPDATE if the row exists. Its numbers are used
// only after the server has committed it. So the store runs the statement on one
// connection and verifies the commit:
//
//	                round trips
//	PostgreSQL           2       the INSERT, and a read that shows whether its transaction is over
//	MySQL, MariaDB       3       SET TRANSACTION, which fails inside a transaction; INSERT; COMMIT
//	SQLite               3       BEGIN IMMEDIATE, INSERT, COMMIT, inside the process
//
// On PostgreSQL, MySQL and MariaDB, a connection with an open transaction is discarded,
// and the fetch runs on another one. After 8 such connections the fetch fails with a
// [*SessionError]. On SQLite it fails with the first one, which is not discarded. A
// segment fetches again after any error.
//
// So autocommit, completion_type, isolation levels, sql_mode, character sets and
// transactions that the application left open are harmless. Package sqlstore lists
// the settings that work, and they are the same for both packages. The store leaves no
// settings behind in the session and prepares no statements, so PgBouncer works in
// transaction mode. With pgx, set default_query_exec_mode=exec for versions of PgBouncer
// that do not support prepared statements.
//
// The statement locks its row only until its own commit. With autocommit=0 on MySQL
// and MariaDB it holds the lock for one more round trip. If another transaction holds
// the lock, the statement waits until ctx ends on PostgreSQL, 2 s on MariaDB, and
// innodb_lock_wait_timeout on MySQL.
//
// At isolation levels above READ COMMITTED, PostgreSQL may reject one of two concurrent
// fetches (40001).
// MySQL and MariaDB may report a deadlock when two processes create a name. The
// segment then fetches again within 10 ms.
//
// A fetch needs a connection. If transactions that wait for numbers use all
// connections of the *sql.DB, the fetch cannot run, and the transactions wait until
// their contexts end. So take numbers before the transaction begins, as gormid does, or
// give the store its own *sql.DB. SQLite has one writer at a time, so a transaction
// that has written must not wait for numbers, unless they come from another file.
//
// # Commits that may be lost
//
// Numbers are unique as long as the database keeps each commit that it acknowledged. If
// it loses a commit, it grants the same numbers again.
//
//	PostgreSQL      fsync = on; each fetch sets synchronous_commit = on
//	MySQL, MariaDB  innodb_flush_log_at_trx_commit = 1; with a binary log, sync_binlog = 1
//	SQLite          PRAGMA synchronous = FULL or EXTRA
//
// Unlike package sqlstore, this package does not check these settings. It has no
// fingerprint either, so it does not detect a failover that lost commits, or a
// restored backup. docs/segments.md says what to do then.
//
// On SQLite, set busy_timeout below segment.Config.Timeout, because a driver may not
// notice that ctx has ended while SQLite waits.
package segmentstore
