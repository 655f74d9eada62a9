// Package sqlstore keeps leases in the application's own database, which can be
// PostgreSQL, MySQL or MariaDB. (For SQLite, they're in a folder beside the database
// file.) It uses your *sql.DB and doesn't import a driver.
//
//	ids, err := snowkey.Open(ctx, sqlstore.Postgres(db), snowkey.Config{})
//
// See package lease for the protocol. The rest of this page covers tables, statements,
// and how the store copes with server and session settings.
//
// # Tables
//
// Two tables are needed: snowkey_lease has a row for each worker number, and
// snowkey_lease_ns a row for each namespace and layout. You can choose different names
// with [Store.WithTable]. Open creates the tables if they're missing.
//
// If the application isn't allowed to create tables, add the statements from [Store.DDL]
// (or from the snowkey init command) to your own migrations. All that the application
// needs after that are the privileges in [Store.Grants].
//
// Snowkey never deletes rows, and neither should you: a process will lose its lease if
// its row is deleted.
//
// Sessions don't necessarily agree on a character set, so namespaces, layouts, tokens and
// labels are stored as ASCII with Go's escapes, e.g. gr\u00f6\u00dfe. An empty string is
// stored as "-".
//
// Times are plain integers: microseconds since 1970 by the database's clock. Time zones,
// driver settings and column precision don't affect them.
//
// The index on expires_at is there for processes waiting for a worker number, which then
// only have to read the row that becomes free next.
//
// The column protocol contains the protocol version (currently 2), and every update is
// conditional on it. When it comes across a table or namespace with a different version,
// the store returns a [*lease.VersionError] without writing anything.
//
// # Statements
//
// A write can't grant anything until the server has committed it. To be sure about that,
// the store runs each write on a single connection and verifies the commit:
//
//	PostgreSQL      The write sets snowkey.write to a random value, local to its
//	                transaction. A second statement reads the setting. If the value
//	                is still there, a transaction is open and nothing is committed.
//	MySQL, MariaDB  SET TRANSACTION, which fails inside a transaction. Then the write,
//	                which also returns whether autocommit is on. If it is off, COMMIT.
//
// If the connection turns out to have an open transaction, the store discards it and
// retries the write on another one. Statements that only read take one round trip. The
// number for everything else depends on the database:
//
//	                               PostgreSQL  MySQL, MariaDB  with autocommit=0
//	renewal, claim or release           2            2                3
//	Open, if the rows exist             3            4                6
//
// With the rows already in place, Open is just a probe followed by a claim. The first
// probe looks at 32 adjacent rows. If all of those are taken (or the only free ones were
// left behind by killed processes) Open has to probe a second time, and it may also have
// to retry the claim if lots of processes are starting at once. A new namespace takes a
// few more statements to create the namespace and its rows.
//
// Statements for MySQL and MariaDB contain values as literals so that drivers don't have
// to prepare them. PostgreSQL drivers do prepare each statement once per connection,
// costing an extra round trip. If you're using pgx you can turn that off.
//
// The store keeps one connection of the *sql.DB to itself for as long as the process
// claims or holds a lease, so renewals will go through even while every other connection
// is used by transactions waiting for ids. All stores on the same *sql.DB share this
// connection, including those of package segmentstore. While it's busy with a slow
// statement, other statements can use connections from the pool. A connection that's been
// idle for a second is first checked the way database/sql would do it, and replaced if
// it's broken. With SetMaxOpenConns(1) there's no connection to spare, so the store has
// to use the pool. Open logs a warning about that: ids will stop during transactions
// longer than Window, and calls then fail after snowkey.Config.MaxBlocked with a
// [lease.BlockedError]. The limit of a pgxpool behind stdlib.OpenDBFromPool isn't visible
// to the store, so make sure it's at least 2.
//
// The store prepares no statements itself and doesn't change any session settings, which
// makes it safe to use with PgBouncer in transaction mode. With pgx and a PgBouncer
// version that lacks support for prepared statements, set default_query_exec_mode=exec.
// Read-only statements for PostgreSQL start with /*NO LOAD BALANCE*/, telling Pgpool-II
// to send them to the primary. Other proxies are covered in docs/stores.md.
//
// # Waiting for rows
//
// No statement waits long for a row locked by another statement:
//
//	PostgreSQL  lock_timeout of the write is the time until ctx ends; 1 ms for added rows
//	MariaDB     SET STATEMENT innodb_lock_wait_timeout = 2; 0 for added rows
//	MySQL       the session's innodb_lock_wait_timeout; no statement can set its own
//
// Rows are only locked until the statement's own commit, so waits should be short on
// MySQL as well. There's one exception: a session with autocommit=0 holds its locks for
// one more round trip.
//
// # Sessions
//
// Connections of a *sql.DB come with whatever settings the application, driver or server
// gave them. Leases work with any of these:
//
//	MySQL, MariaDB  autocommit, completion_type, isolation level, sql_mode, time_zone,
//	                character set, sql_safe_updates, sql_select_limit, binlog_format, clientFoundRows,
//	                interpolateParams, innodb_snapshot_isolation
//	PostgreSQL      default_transaction_isolation and _deferrable, synchronous_commit,
//	                session_replication_role, search_path, client_encoding, TimeZone,
//	                DateStyle, the query modes of pgx
//	all             transactions that the application left open, XA included
//
// Tables are looked up through search_path. If that might differ between connections, be
// sure to put a schema in front of the table name.
//
// The keeper tries again after 8 connections in a row with an open transaction, and after
// LOCK TABLES of the application (error 1100). Tables of another protocol version give a
// [*lease.VersionError] at once, and these a [*lease.PermanentError]:
//
//   - a read-only server or standby, or session (MySQL and MariaDB: only where tables are
//     missing)
//   - a proxy that sends reads to a standby, so that a commit can't be verified (PostgreSQL)
//   - the simple protocol of pgx with standard_conforming_strings=off
//   - a wrong password, an unknown database, a missing privilege
//   - a trigger, rule, row-level security, view, partitioned table on PostgreSQL, or an
//     engine other than InnoDB
//   - a *sql.DB that's nil, closed, or of another database
//
// If the server or session accepts no writes, the store closes the connection: a new one
// may reach the new primary, or have a different setting. On MySQL and MariaDB with
// autocommit=0, even a read begins a transaction. The store ends these too, as they would
// otherwise keep locks at isolation level SERIALIZABLE.
//
// # Conflicts
//
// At isolation levels above READ COMMITTED, PostgreSQL may abort one of two concurrent
// updates with error 40001. With clusters and distributed databases, errors like that are
// routine:
//
//	PostgreSQL and compatible   40001, 40P01
//	MySQL, MariaDB              1213, 1205, 1020
//	Galera                      1047, 1180: the server has left the cluster
//	Group Replication           3101; 1231, 3796, 3797, 3798: the server has left the group
//	TiDB                        8002, 8022, 9007
//
// The store makes up to eight attempts for such a statement, switching connections if the
// server has left its cluster. An attempt that returned an error might still have been
// executed. For that reason, the store reads the row if a later attempt changes nothing.
// Should the row have the new token, the store returns the first error, and the keeper
// treats this like a lost reply.
//
// Open checks the tables even if SkipMigrate is set. To save a round trip, the statement
// that looks for a free row also reads the rows' version and checks for triggers, rules
// and row-level security. A full inspection only happens if that finds something, before
// adding rows, and when the fingerprint changes (which it also does when a table gets
// another engine). Note that there's no way to detect triggers or rules added later.
// MySQL and MariaDB also hide triggers from users without the TRIGGER privilege on the
// tables.
//
// # Commits that may be lost
//
// PostgreSQL: each write waits for the disk, even if synchronous_commit is off. With
// fsync=off, a crash could still lose any commit, and you'll only hear about that from
// Doctor.
//
// MySQL and MariaDB: a crash may lose commits unless innodb_flush_log_at_trx_commit is 1
// and, with a binary log, sync_binlog is 1.
//
// Each probe, claim and renewal reads these settings. If commits might be lost, new
// leases hold off, meaning the first id is issued about MaxClockSkew later. Leases
// claimed before the setting changed aren't renewed.
//
// Change these settings in the server's configuration file rather than with SET GLOBAL.
// The crash that loses commits also resets anything set with SET GLOBAL, leaving the
// store with no way of knowing that commits may be missing. Call snowkey.Fence if that
// has happened to you.
//
// # The fingerprint
//
// The fingerprint is how the store can tell whether it's still looking at the database
// that granted the leases. Each claim compares the current one with the one that's
// stored. The fingerprint is made up of:
//
//	PostgreSQL  the cluster's system identifier and timeline; the OIDs of the database and
//	            of both tables; the file of the lease table; the transaction that wrote
//	            the namespace row
//	MySQL       server_uuid, and when the tables were created
//	MariaDB     host name, port and server_id, and when the tables were created
//	Galera      the cluster's UUID, and the position of its view in the cluster's log
//	Group Repl. in multi-primary mode, the group's name and VIEW_ID
//
// This detects failovers, point-in-time recovery and recreated tables, and on PostgreSQL
// also TRUNCATE (or DELETE followed by INSERT) of both tables. Unfortunately, VACUUM FULL
// and CLUSTER change the file of the lease table too and look just the same. Running one
// of them has the same effect as a failover: ids continue up to Window + 2 × MaxClockSkew
// ahead. See docs/leases.md for what can't be detected, and for when you need to call
// snowkey.Fence.
//
// On PostgreSQL, the role needs EXECUTE on pg_control_system, pg_current_wal_lsn and
// pg_walfile_name. Every role has it by default, except on some hosted services.
//
// Servers that are merely compatible with MySQL or PostgreSQL may be missing some of the
// variables, functions and catalogs we read (TiDB has no log_bin, for example). That
// doesn't make the store fail, and neither does a missing privilege. It just can't tell
// whether the server may lose commits or has been replaced, so each new lease holds off.
//
// # Clusters
//
// The store recognises Galera, and Group Replication in multi-primary mode, where any
// member may execute a statement. It first has to apply everything committed on the
// others. For Galera, statements set wsrep_sync_wait just for themselves. For Group
// Replication, the store sets the session's group_replication_consistency to BEFORE and
// restores it after the statement, at the cost of two more round trips and a leftover
// user variable, @snowkey_was.
//
// A cluster gets a new view each time its members agree on who is present, which includes
// every time that commits could have been lost. Reading the view takes SELECT on
// mysql.wsrep_cluster or performance_schema.replication_group_member_stats. Without it,
// each new lease holds off. See docs/stores.md for what operators have to do.
//
// # Replicas
//
// MariaDB servers that may replace each other should have different server_ids, and use
// binlog_format ROW or MIXED. With STATEMENT, a replica computes the fingerprint by
// itself, and promoting it would go undetected.
//
// # SQLite
//
// SQLite only has one writer at a time, possibly a transaction that's waiting for ids.
// Leases in the same file couldn't be renewed until it ends. But since all processes
// using a SQLite file run on one host anyway, [SQLite] can use package filestore instead,
// with a folder beside the database file: shop.db has its leases in shop.db-snowkey. A
// process needs the database only when it starts, to find the file.
//
//   - Open creates the folder with the same owner and group as the file. Anybody allowed
//     to write to the file may use the folder. To give others access later on, change the
//     permissions of both.
//   - Symbolic links to the file lead to the same folder. Hard links don't, and opening a
//     database through two of them makes SQLite itself damage it. With containers, mount
//     the folder the file is in instead of just the file (SQLite requires that as well).
//   - If the database is copied or restored without its folder, or the folder is deleted,
//     ids start above anything that could have been granted, judging by the host's clock.
//     If the folder is older than the database, see package filestore. If only the
//     database is older, that doesn't affect the leases.
//   - A process won't get any further grants if the database is moved while it's in use.
//   - An in-memory database belongs to one process. The leases of all of a process's
//     in-memory databases are in its memory.
//
// The store refuses databases that don't have a file on a local disk of this host, e.g.
// when the driver talks to a server, or on a network file system. It can't recognise all
// of those, though. In such cases use package filestore, with a directory shared by all
// processes. The error is a [*lease.PermanentError], which you'll also get for tables
// from an earlier version of Snowkey, a folder this user may not write to, and a database
// that isn't SQLite.
package sqlstore
