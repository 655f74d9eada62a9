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
// The table is called snowkey_segment, unless [Store.WithTable] chooses another name.
// It has a row for each name. The column bound contains the first number that was never
// granted, and the column start the beginning of the last segment, which is only meant
// for people who read the table. Names are stored as ASCII with Go's escapes, so that
// sessions with different character sets find the same row.
//
// [Store.Migrate] creates the table if it is missing. If the application is not allowed
// to create tables, use postgres.sql, mysql.sql or sqlite.sql of this package in your
// own migration instead, with {table} replaced by the name and {protocol} by 2. The
// application needs SELECT, INSERT and UPDATE (start, bound), or on MySQL and MariaDB
// UPDATE of the whole table.
//
// If the table already exists, Migrate only checks it, with a single statement, and
// returns an error if the table has a trigger, a rule, row-level security, an engine other
// than InnoDB, or another protocol version.
//
// Note that MySQL and MariaDB only show triggers to users with the TRIGGER privilege on
// the table. Programs should call Migrate when they start. Otherwise the first fetch
// checks the table in the same way. In addition, every fetch from an existing row makes
// sure that the row has the right protocol version.
//
// # The statement
//
// A fetch is a single INSERT, which becomes an UPDATE if the row already exists. Its
// numbers must not be used before the server has committed it. That's why the store
// runs the statement on one connection and verifies the commit:
//
//	                round trips
//	PostgreSQL           2       the INSERT, and a read that shows whether its transaction is over
//	MySQL, MariaDB       3       SET TRANSACTION, which fails inside a transaction; INSERT; COMMIT
//	SQLite               3       BEGIN IMMEDIATE, INSERT, COMMIT, inside the process
//
// On PostgreSQL, MySQL and MariaDB, a connection with an open transaction is discarded,
// and the fetch is tried again on another one. After 8 such connections it fails. On
// SQLite the fetch already fails on the first one, and the connection is kept. After any error, a segment fetches again.
//
// This means that autocommit, completion_type, isolation levels, sql_mode, character
// sets and transactions that the application left open can't do any harm. Package
// sqlstore lists the settings that work, which are the same for both packages. The
// store leaves no settings behind in the session and doesn't prepare statements, so it
// works with PgBouncer in transaction mode. If you use pgx with a version of PgBouncer
// that doesn't support prepared statements, set default_query_exec_mode=exec.
//
// The statement locks its row only until its own commit, or for one more round trip
// with autocommit=0 on MySQL and MariaDB. If another transaction holds the lock, the
// statement waits until ctx ends on PostgreSQL, 2 s on MariaDB, and
// innodb_lock_wait_timeout on MySQL.
//
// At isolation levels above READ COMMITTED, PostgreSQL may reject one of two concurrent
// fetches (40001). MySQL and MariaDB may report a deadlock when two processes create a
// name. In both cases the segment fetches again within 10 ms.
//
// On PostgreSQL, MySQL and MariaDB, the store keeps one connection of the *sql.DB until its
// segments are closed, so it can fetch while transactions that wait for numbers use all
// others. It shares the connection with other stores over the same *sql.DB. If
// SetMaxOpenConns is 1, it uses the pool instead, and segment.New logs a warning. A
// transaction with the only connection that waits for numbers then fails after
// segment.Config.MaxBlocked with a [segment.BlockedError]. SQLite allows only one writer
// at a time, so a transaction that has already written fails in the same way if it waits
// for numbers, unless they come from another file.
//
// # Commits that may be lost
//
// Numbers are unique as long as the database keeps every commit that it acknowledged.
// If a commit is lost, the database will grant the same numbers again.
//
//	PostgreSQL      fsync = on; each fetch sets synchronous_commit = on
//	MySQL, MariaDB  innodb_flush_log_at_trx_commit = 1; with a binary log, sync_binlog = 1
//	SQLite          PRAGMA synchronous = FULL or EXTRA
//
// Unlike package sqlstore, this package does not check these settings. Since it doesn't
// have a fingerprint either, it can't detect a failover that lost commits, or a
// restored backup. See docs/leases.md for what to do in these cases.
//
// On SQLite, busy_timeout should be less than segment.Config.Timeout, because a driver
// may not notice that ctx has ended while SQLite is waiting.
package segmentstore
