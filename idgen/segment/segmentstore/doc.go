// Package segmentstore is a store for package segment in the application's own database:
// PostgreSQL, MySQL, MariaDB or SQLite. It uses your *sql.DB and doesn't import a driver.
//
//	store := segmentstore.Postgres(db)
//	if err := store.Migrate(ctx); err != nil { … }
//	orders, err := segment.New(store, segment.Config{Name: "orders"})
//
// # The table
//
// The table is called snowkey_segment unless you choose another name with
// [Store.WithTable]. It has one row for each segment.Config.Name. The column bound
// contains the first number that was never granted, and start the beginning of the last
// range. Names are stored as ASCII with Go's escapes, so that sessions with different
// character sets find the same row.
//
// Call [Store.Migrate] at startup. It creates the table if it's missing. If the
// application isn't allowed to create tables, put this package's postgres.sql, mysql.sql
// or sqlite.sql in your own migrations, replacing {table} with the name and {protocol}
// with 2. The application then needs the privileges SELECT, INSERT and UPDATE (start,
// bound), or on MySQL and MariaDB, UPDATE on the whole table.
//
// If the table exists, Migrate checks it with a single statement. It returns an error if
// the table has a trigger, a rule, row-level security, an engine other than InnoDB, or a
// different protocol version. MySQL and MariaDB only show triggers to users with the
// TRIGGER privilege on the table. If you don't call Migrate, the first fetch checks the
// table in the same way.
//
// # The statement
//
// To fetch a range, the store executes a single INSERT, which turns into an UPDATE if the
// row already exists. The numbers must not be used before the server has committed it.
// For this reason, a fetch runs on one connection, and verifies the commit:
//
//	                round trips
//	PostgreSQL           2       the INSERT, and a read that shows whether its transaction is over
//	MySQL, MariaDB       3       SET TRANSACTION, which fails inside a transaction; INSERT; COMMIT
//	SQLite               3       BEGIN IMMEDIATE, INSERT, COMMIT, inside the process
//
// Package sqlstore describes what such a statement does about sessions with other settings
// or an open transaction, about poolers, and how long it waits for a locked row. On SQLite,
// a fetch fails if the connection has an open transaction, and the connection is kept. A
// segment fetches again after any error.
//
// Concurrent fetches can fail. At isolation levels above READ COMMITTED, PostgreSQL may
// reject one of two fetches (40001). MySQL and MariaDB may report a deadlock when two
// processes create the same name. In both cases, the segment fetches again within 10 ms.
//
// # Connections
//
// On PostgreSQL, MySQL and MariaDB, the store keeps one connection of the *sql.DB until
// its segments are closed. Fetches therefore work even while all other connections are
// used by transactions that wait for numbers. Other stores on the same *sql.DB share this
// connection.
//
// With SetMaxOpenConns(1), the store cannot keep a connection, and segment.New logs a
// warning. A transaction that waits for numbers while it holds the only connection fails
// after segment.Config.MaxBlocked, with a [segment.BlockedError].
//
// SQLite only allows one writer at a time. A transaction that has already written
// something and then waits for numbers from the same file also fails with a
// [segment.BlockedError]. Take the numbers before you begin the transaction.
//
// # Commits that may be lost
//
// Numbers are unique as long as the database keeps every commit it has acknowledged. If
// it loses a commit, the store grants the same numbers again. To keep commits in a crash, it
// needs the settings in docs/leases.md#durability, or on SQLite PRAGMA synchronous = FULL or
// EXTRA. This package doesn't check them (package sqlstore does). It also can't detect that
// a failover has lost commits, or that a backup was restored. See docs/leases.md for what to
// do in these cases.
//
// On SQLite, set busy_timeout to less than segment.Config.Timeout. Otherwise, a driver
// may continue to wait after ctx has ended.
package segmentstore
