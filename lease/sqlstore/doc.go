// Package sqlstore keeps leases in the application's own database: PostgreSQL,
// MySQL, MariaDB or SQLite, through the *sql.DB that the application has anyway.
// It imports no driver.
//
//	ids, err := snowkey.Open(ctx, sqlstore.Postgres(db), snowkey.Config{})
//
// # Tables
//
// There are two, snowkey_lease with a row for each worker number in use and
// snowkey_lease_ns with one for each namespace and layout, or those that [Store.WithTable]
// names. Open makes them if they are missing. Where the application may not
// create tables, run the files postgres.sql, mysql.sql or sqlite.sql of this
// package as part of your own migration, with the names put in; Open then finds
// them and creates nothing. The least privileges are SELECT and INSERT on both,
// UPDATE (fingerprint, fence, born) on snowkey_lease_ns and UPDATE (token, revision,
// bound, expires_at, label) on snowkey_lease. Nothing is ever deleted, and rows
// are better not: whose row is deleted in use loses the lease.
//
// Times are microseconds since 1970 by the database's clock, as integers, so that
// no time zone, driver setting or column precision touches them.
//
// # Statements
//
// Each call is one statement that commits by itself, but for the birth of a new
// worker, which is a transaction of two. There are no locks, prepared statements
// or session settings of its own, so poolers such as PgBouncer in transaction mode
// do (with pgx, set default_query_exec_mode=exec for those that do not know
// prepared statements), and so does a pool of one connection, if the application
// does not keep it for longer than a quarter of the lease's window.
//
// Any isolation level is right. Above READ COMMITTED, PostgreSQL may refuse one
// of two updates that meet (40001); that is an error like any other, after which
// a keeper tries again.
//
// # What the database must not forget
//
// Leases rest on commits that stay. What follows is how far that is seen to.
//
// PostgreSQL: every update waits for the disk, also where synchronous_commit is
// off. A failover or a restore to a point in time is recognised by system
// identifier and timeline. A role that may not call pg_control_system,
// pg_current_wal_lsn and pg_walfile_name, as on some hosted services, cannot
// see that: a lease is then held for MaxClockSkew before it grants, so grant
// EXECUTE on them if you can. With fsync=off the server may forget what it likes.
//
// MySQL and MariaDB: commits can be forgotten unless
// innodb_flush_log_at_trx_commit is 1 and, where there is a binary log,
// sync_binlog is 1 too. If not, leases hold off as above. A failover is recognised
// by server_uuid, on MariaDB by host name, port and server_id: give servers
// that replace each other different ones.
//
// SQLite: the same with PRAGMA synchronous, which must be FULL or EXTRA on all
// connections. Set busy_timeout, below a quarter of the lease's window, because a
// driver may not notice that ctx has ended while SQLite waits. A copy of the
// file cannot be told from the original; the file must not lie on a network.
//
// A volume snapshot that is put back looks like the same server that has slept:
// call snowkey.Fence after such a restore.
package sqlstore
