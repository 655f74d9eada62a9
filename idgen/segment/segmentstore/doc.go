// Package segmentstore keeps the bounds of segments in the application's own database,
// which can be PostgreSQL, MySQL, MariaDB or SQLite. It uses your *sql.DB and doesn't
// import a driver.
//
//	store := segmentstore.Postgres(db)
//	if err := store.Migrate(ctx); err != nil { … }
//	orders, err := segment.New(store, segment.Config{Name: "orders"})
//
// # The table
//
// The table is called snowkey_segment unless you choose another name with
// [Store.WithTable]. There's one row per name. The column bound contains the first number
// never granted, while start (the beginning of the last segment) is just there for people
// reading the table. Names are stored as ASCII with Go's escapes so that sessions with
// different character sets find the same row.
//
// [Store.Migrate] creates the table if it's missing. If the application isn't allowed to
// create tables, put this package's postgres.sql, mysql.sql or sqlite.sql in your own
// migrations, replacing {table} with the name and {protocol} with 2. The application
// needs SELECT, INSERT and UPDATE (start, bound), or UPDATE on the whole table with MySQL
// and MariaDB.
//
// For an existing table, Migrate is a single statement that checks it, returning an error
// if the table has a trigger, a rule, row-level security, an engine other than InnoDB, or
// a different protocol version.
//
// MySQL and MariaDB only show triggers to users with the TRIGGER privilege on the table.
// It's best to call Migrate at startup, though if you don't, the first fetch will check
// the table in the same way. On top of that, each fetch from an existing row makes sure
// the row has the right protocol version.
//
// # The statement
//
// A fetch is a single INSERT that turns into an UPDATE if the row already exists. Its
// numbers must not be used before the server has committed it, so the store runs the
// statement on one connection and verifies the commit:
//
//	                round trips
//	PostgreSQL           2       the INSERT, and a read that shows whether its transaction is over
//	MySQL, MariaDB       3       SET TRANSACTION, which fails inside a transaction; INSERT; COMMIT
//	SQLite               3       BEGIN IMMEDIATE, INSERT, COMMIT, inside the process
//
// On PostgreSQL, MySQL and MariaDB, a connection that still has a transaction open is
// discarded, and the fetch is retried on another one. It gives up after 8 of those. On
// SQLite, the first one is enough to make the fetch fail, and the connection is kept. A
// segment fetches again after any error.
//
// This way, it doesn't matter how autocommit, completion_type, isolation levels, sql_mode
// and character sets are set, or whether you've left a transaction open. For a list of
// settings that work, see package sqlstore (they're the same for both packages). The
// store doesn't change any session settings or prepare statements, so it works with
// PgBouncer in transaction mode. With pgx and a PgBouncer version that lacks support for
// prepared statements, set default_query_exec_mode=exec.
//
// The row is only locked until the statement's own commit, or for one more round trip
// with autocommit=0 on MySQL and MariaDB. If another transaction has it locked, the
// statement waits until ctx ends on PostgreSQL, 2 s on MariaDB, and
// innodb_lock_wait_timeout on MySQL.
//
// At isolation levels above READ COMMITTED, PostgreSQL may reject one of two concurrent
// fetches (40001). MySQL and MariaDB might report a deadlock when two processes create
// the same name. Either way the segment fetches again within 10 ms.
//
// On PostgreSQL, MySQL and MariaDB, the store keeps one connection of the *sql.DB to
// itself until its segments are closed, so fetching works even while transactions waiting
// for numbers use all the others. Other stores on the same *sql.DB share this connection.
// If SetMaxOpenConns is 1, the store has to use the pool instead, and segment.New logs a
// warning. A transaction that waits for numbers while holding the only connection will
// then fail after segment.Config.MaxBlocked with a [segment.BlockedError]. SQLite only
// allows one writer at a time, so there a transaction fails the same way if it waits for
// numbers after it has already written something, unless they come from another file.
//
// # Commits that may be lost
//
// Numbers are unique as long as the database keeps every commit it has acknowledged.
// After losing a commit, it will grant the same numbers again.
//
//	PostgreSQL      fsync = on; each fetch sets synchronous_commit = on
//	MySQL, MariaDB  innodb_flush_log_at_trx_commit = 1; with a binary log, sync_binlog = 1
//	SQLite          PRAGMA synchronous = FULL or EXTRA
//
// Unlike sqlstore, this package doesn't check these settings. It doesn't have a
// fingerprint either, which means that it can't detect a failover that lost commits, or a
// restored backup. See docs/leases.md for what to do about those.
//
// On SQLite, busy_timeout should be less than segment.Config.Timeout, because a driver
// might not notice the end of ctx while SQLite is waiting.
package segmentstore
