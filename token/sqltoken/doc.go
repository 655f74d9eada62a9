// Package sqltoken is a store for package token that keeps sessions in the application's own
// database: PostgreSQL, MySQL, MariaDB or SQLite. It uses the application's *sql.DB and
// doesn't import a driver.
//
//	sessions := sqltoken.Postgres(db)
//	err := sessions.Migrate(ctx)
//
// # The table
//
// The table is called snowkey_session unless you choose another name with [Store.WithTable].
// Each row contains a session's id, its user, a hash of the token, the time it was last used,
// and its expiry. None of this can be used to log in.
//
// [Store.Migrate] creates the table if it doesn't exist. If the application isn't allowed to
// create tables, use postgres.sql, mysql.sql or sqlite.sql from this package in your own
// migrations, replacing {table} with the table's name and {protocol} with 2. The application
// then only needs SELECT, INSERT, UPDATE and DELETE.
//
// The table must not have triggers, rules, row-level security, or an engine other than
// InnoDB. All methods, including Migrate, return an error if it has one of these.
//
// Call [Store.Cleanup] regularly to delete expired sessions.
//
// Several signers can share a table, even if their TTLs differ.
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
// passed since it was last saved. This costs as much as any other write.
//
// When Add, Revoke or RevokeUser returns without an error, the change has been committed, so
// a revoked session stays revoked. This is true even if the *sql.DB returns a connection that
// still has a transaction open or autocommit turned off. In this case the store uses another
// connection, or commits by itself. After 8 such connections (on SQLite, after one) the call
// returns an error.
//
// User and Sessions can return old data in two cases:
//
//   - The *sql.DB returns a connection with an open REPEATABLE READ transaction. User then
//     sees sessions as they were when that transaction began. This can't happen with
//     transactions from db.BeginTx, because database/sql keeps their connection until they
//     end.
//   - The *sql.DB reads from a replica, which may not have the latest revocations. Always
//     read from the primary.
//
// At isolation levels above READ COMMITTED, concurrent writes to the same session can lead to
// serialization failures on PostgreSQL (40001) and deadlocks on MySQL. The store makes up to 8
// attempts.
package sqltoken
