// Package sqltoken keeps sessions in the application's own database: PostgreSQL, MySQL,
// MariaDB or SQLite. It uses the *sql.DB of the application and imports no driver.
//
//	sessions := sqltoken.Postgres(db)
//	err := sessions.Migrate(ctx)
//
// # The table
//
// The table is called snowkey_session, unless [Store.WithTable] chooses another name. It
// has a row for each session: the id, the user, a hash of the token, when the session was
// last used, and when it expires. Nothing in it can be used to log in.
//
// [Store.Migrate] creates the table if it is missing. If the application is not allowed to
// create tables, use postgres.sql, mysql.sql or sqlite.sql of this package in your own
// migration. Replace {table} by the name and {protocol} by 2. The application
// needs SELECT, INSERT, UPDATE and DELETE. If the table has a trigger, a rule, row-level
// security or an engine other than InnoDB, Migrate and all other methods return an
// error.
//
// [Store.Cleanup] deletes the sessions that have expired. Signers with different TTLs may
// share a table.
//
// # Statements
//
//	                              round trips: Add, Revoke, RevokeUser   User, Sessions
//	PostgreSQL                                                       2      1
//	MySQL, MariaDB                                                   3      1
//	SQLite                                                           3      1   inside the process
//
// With autocommit=0, or if there is no session, User and Sessions take 4 on MySQL and MariaDB.
//
// A write returns once it is committed. A *sql.DB may hand the store a connection on which
// the application has left a transaction open, or has changed autocommit. The store then
// uses another connection, or commits by itself, so a session that was revoked stays
// revoked. After 8 such connections a write fails. On SQLite it fails at the first one.
//
// A User call also writes the time of use, with the round trips of a write, when an eighth
// of token.Config.Idle has passed since the last such write.
//
// User reads with a single statement. On a connection that the application left in a
// REPEATABLE READ transaction, the statement would see the sessions of the time when that
// transaction began. End each transaction before its connection returns to the pool, as
// db.BeginTx does. Don't read from a replica, which may not know of a revocation yet.
//
// At isolation levels above READ COMMITTED, PostgreSQL may reject one of two concurrent
// writes of a session (40001), and MySQL may report a deadlock. The store tries such a
// write 8 times.
package sqltoken
