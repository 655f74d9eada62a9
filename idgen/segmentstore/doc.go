// Package segmentstore keeps the bounds of segments in the application's own
// database: PostgreSQL, MySQL, MariaDB or SQLite, through the *sql.DB that the
// application has anyway. It imports no driver.
//
//	store := segmentstore.Postgres(db)
//	if err := store.Migrate(ctx); err != nil { … }
//	orders, err := idgen.NewSegment(store, idgen.SegmentConfig{Name: "orders"})
//
// # The table
//
// There is one, snowkey_segment or what [Store.WithTable] names, with a row for
// each name: bound is the first number that was granted to nobody, start the one
// before, for people. [Store.Migrate] makes the table if it is missing. Where the
// application may not create tables, run postgres.sql, mysql.sql or sqlite.sql of
// this package as part of your own migration, with the name put in. The least
// privileges are SELECT, INSERT and UPDATE (start, bound).
//
// # The statement
//
// A fetch is one statement that commits by itself, also the first of a name. There
// are no transactions, locks or session settings of its own, so poolers such as
// PgBouncer in transaction mode do (with pgx, set default_query_exec_mode=exec for
// those that do not know prepared statements).
//
// A fetch needs a connection while calls may wait for it. Do not let all
// connections be held by transactions that wait for numbers: draw them before the
// transaction, as gormid does by itself, or give the store a *sql.DB of its own.
// SQLite has one writer at a time, so there a transaction that has written must
// not wait for numbers at all, unless they come from another file.
//
// Any isolation level is right. Above READ COMMITTED, PostgreSQL may refuse one
// of two fetches that meet (40001), and MySQL and MariaDB may at any level end one
// of two that deadlock when a name is made; that is an error like any other, after
// which a segment tries again within 10 ms.
//
// # What the database must not forget
//
// A number is unique as long as a commit that was acknowledged stays. Where it
// is lost, others are granted its numbers again.
//
// PostgreSQL: a fetch waits for the disk, also where synchronous_commit is off.
// With fsync=off the server may forget what it likes.
//
// MySQL and MariaDB: innodb_flush_log_at_trx_commit must be 1 and, where there is a
// binary log, sync_binlog too.
//
// SQLite: PRAGMA synchronous must be FULL or EXTRA. Set busy_timeout below
// SegmentConfig.Timeout, because a driver may not notice that ctx has ended while
// SQLite waits.
//
// No setting of one server makes up for a failover to a standby that lacks the last
// commits, or for a backup that is restored; docs/segments.md says what does.
package segmentstore
