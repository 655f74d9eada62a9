// Package sqltoken stores sessions in the database you already have (PostgreSQL, MySQL,
// MariaDB or SQLite). It works with your application's *sql.DB and doesn't import a driver.
//
//	sessions := sqltoken.Postgres(db)
//	err := sessions.Migrate(ctx)
//
// # The table
//
// Sessions live in a table called snowkey_session; use [Store.WithTable] for a different name.
// Each row holds a session's id, its user, a hash of the token, the time of last use, and the
// expiry. Someone reading the table still couldn't log in with any of it.
//
// [Store.Migrate] creates the table if it doesn't exist. In case your application isn't allowed
// to create tables, copy postgres.sql, mysql.sql or sqlite.sql from this package into your own
// migration, replacing {table} with the name and {protocol} with 2. All the application needs
// then is SELECT, INSERT, UPDATE and DELETE.
//
// Triggers, rules, row-level security and engines other than InnoDB aren't supported. Migrate
// and all other methods return an error for a table that has one of these.
//
// Call [Store.Cleanup] every now and then to delete expired sessions. Signers can share a
// table even if their TTLs differ.
//
// # Statements
//
//	                              round trips: Add, Revoke, RevokeUser   User, Sessions
//	PostgreSQL                                                       2      1
//	MySQL, MariaDB                                                   3      1
//	SQLite                                                           3      1   inside the process
//
// On MySQL and MariaDB, User and Sessions take 4 round trips with autocommit=0, or if there's
// no session. Once an eighth of token.Config.Idle has passed since the time of use was last
// saved, User saves it again, and this costs as much as any other write.
//
// Writes are committed by the time they return, even when the *sql.DB hands out a connection
// that still has a transaction open or autocommit turned off. In that case the store switches
// connections (or does its own commit) so that revoked sessions stay revoked. It gives up and
// fails the write after 8 of these; on SQLite, the first one is enough.
//
// Reads are a single statement, and can't detect this in every case. On a connection you've
// left in a REPEATABLE READ transaction, User sees sessions as they were when the transaction
// began. Make sure that every transaction has ended by the time its connection goes back to
// the pool (db.BeginTx does this for you). Don't read from a replica. It might be lagging and
// not have the revocation yet.
//
// Above READ COMMITTED, concurrent writes to the same session may run into serialization
// failures on PostgreSQL (40001) and deadlocks on MySQL. The store makes up to 8 attempts.
package sqltoken
