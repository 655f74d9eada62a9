// Package sqltoken stores sessions in the application's own database (PostgreSQL, MySQL,
// MariaDB or SQLite). It uses the application's *sql.DB rather than importing a driver.
//
//	sessions := sqltoken.Postgres(db)
//	err := sessions.Migrate(ctx)
//
// # The table
//
// Sessions are stored in a table called snowkey_session, which can be changed with
// [Store.WithTable]. Each row contains a session's id, its user, a hash of the token, the
// time it was last used, and its expiry. None of this can be used to log in.
//
// [Store.Migrate] creates the table if it doesn't exist. For applications that aren't
// allowed to create tables, use postgres.sql, mysql.sql or sqlite.sql from this package in a
// regular migration, replacing {table} with the table's name and {protocol} with 2. The
// application only needs SELECT, INSERT, UPDATE and DELETE in this case.
//
// Triggers, rules, row-level security and engines other than InnoDB aren't supported. All
// methods, including Migrate, will return an error for a table that has one of these.
//
// [Store.Cleanup] should be called regularly to delete expired sessions. Signers can share a
// table even if their TTLs differ.
//
// # Statements
//
//	                              round trips: Add, Revoke, RevokeUser   User, Sessions
//	PostgreSQL                                                       2      1
//	MySQL, MariaDB                                                   3      1
//	SQLite                                                           3      1   inside the process
//
// On MySQL and MariaDB, User and Sessions take 4 round trips with autocommit=0, or if
// there's no session. User also saves the time of use if an eighth of token.Config.Idle has
// passed since it was last saved, which costs as much as any other write.
//
// A write has been committed by the time it returns, even if the *sql.DB hands out a
// connection that still has a transaction open or autocommit turned off. The store will then
// switch to another connection (or do its own commit) so that revoked sessions stay revoked.
// It gives up and fails the write after encountering 8 of these, or on SQLite after just
// one.
//
// As reads consist of a single statement, they can't always detect this. On a connection
// that was returned to the pool in the middle of a REPEATABLE READ transaction, User will
// see sessions as they were when the transaction began. Transactions started with db.BeginTx
// don't have this problem, as database/sql keeps their connection until they end. Don't read
// from a replica, since it might be lagging and not have the latest revocations.
//
// At isolation levels above READ COMMITTED, concurrent writes to the same session may run
// into serialization failures on PostgreSQL (40001) and deadlocks on MySQL. The store will
// make up to 8 attempts.
package sqltoken
