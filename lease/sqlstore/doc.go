// Package sqlstore keeps leases in the application's own database: PostgreSQL,
// MySQL or MariaDB. For SQLite, it keeps them in a folder beside the file. It uses the
// *sql.DB of the application and imports no driver.
//
//	ids, err := snowkey.Open(ctx, sqlstore.Postgres(db), snowkey.Config{})
//
// The protocol itself is described in package lease. What follows covers the tables,
// the statements, and how the store deals with the settings of servers and sessions.
//
// # Tables
//
// There are two tables: snowkey_lease has a row for each worker number, and
// snowkey_lease_ns has a row for each namespace and layout. Use [Store.WithTable] to
// choose other names. Open creates the tables if they are missing.
//
// If the application isn't allowed to create tables, run the statements of [Store.DDL]
// in your own migration, or those that the command snowkey init prints. In that case
// the application only needs the privileges that [Store.Grants] returns:
//
//	snowkey_lease     SELECT, INSERT, UPDATE (token, revision, bound, expires_at, label)
//	snowkey_lease_ns  SELECT, INSERT, UPDATE (fingerprint, fence)
//
// On MySQL and MariaDB, the grants are SELECT, INSERT and UPDATE of whole tables,
// because MariaDB requires UPDATE of every column that INSERT … ON DUPLICATE KEY UPDATE
// inserts.
//
// Snowkey never deletes rows, and you should not delete them either: a process whose
// row is deleted loses its lease.
//
// Sessions may have different character sets. To make sure that they all read and write
// the same names, namespaces, layouts, tokens and labels are stored as ASCII with Go's
// escapes, such as gr\u00f6\u00dfe. An empty string is stored as "-".
//
// Times are stored as integers, in microseconds since 1970 by the database's clock, so
// time zones, driver settings and the precision of columns do not affect them.
//
// There is an index on expires_at for processes that wait for a worker number. They
// only need to read the row that becomes free next.
//
// The column protocol contains the protocol version, which is currently 2, and every
// update is conditional on it. If a table or namespace has another version, the store
// returns a [*lease.VersionError] and writes nothing.
//
// # Statements
//
// A write must not grant anything until the server has committed it. The store
// therefore runs each write on one connection and verifies that it was committed:
//
//	PostgreSQL      The write sets snowkey.write to a random value, local to its
//	                transaction. A second statement reads the setting. If the value
//	                is still there, a transaction is open and nothing is committed.
//	MySQL, MariaDB  SET TRANSACTION, which fails inside a transaction. Then the write,
//	                which also returns whether autocommit is on. If it is off, COMMIT.
//
// If it turns out that the connection has an open transaction, the store discards it
// and runs the write on another one. A statement that only reads takes one round trip,
// whereas the other operations take:
//
//	                               PostgreSQL  MySQL, MariaDB  with autocommit=0
//	renewal, claim or release           2            2                3
//	Open, if the rows exist             3            4                6
//
// If the rows exist, Open only has to probe and then claim. The first probe looks at 32
// adjacent rows. If none of them is free, or if all free ones were left by processes
// that were killed, Open needs a second probe, and when many processes start at the
// same time, it may need more than one claim as well. For a new namespace, Open also
// adds rows and creates the namespace.
//
// Statements for MySQL and MariaDB contain their values as literals, so the driver does
// not need to prepare them. PostgreSQL drivers, on the other hand, prepare each
// statement once per connection, which takes one more round trip. You can switch this
// off in pgx.
//
// While a process claims or holds a lease, the store keeps one connection of the *sql.DB
// for its statements. So it can renew the lease while transactions that wait for ids use
// all others, however long they last. All stores over the same *sql.DB share the
// connection, also those of package segmentstore. While one statement takes long, the
// others may use connections of the pool. If the connection was not used for a second, the
// store first checks it as database/sql would, and takes another one if it is broken. If
// SetMaxOpenConns is 1, it uses the pool instead, and Open logs a warning: ids then stop
// while a transaction is longer than Window. If they do, calls fail after
// snowkey.Config.MaxBlocked with a [lease.BlockedError]. The store can't see the limit of a
// pgxpool behind stdlib.OpenDBFromPool: give it 2 connections or more.
//
// Since the store prepares no statements itself and leaves no settings behind in the
// session, it works with PgBouncer in transaction mode. If you use pgx with a version of PgBouncer that doesn't support
// prepared statements, set default_query_exec_mode=exec. Statements for PostgreSQL that
// only read begin with /*NO LOAD BALANCE*/, which makes Pgpool-II send them to the primary.
// See docs/stores.md for other proxies.
//
// # Waiting for rows
//
// No statement waits long for a row that another statement has locked:
//
//	PostgreSQL  lock_timeout of the write is the time until ctx ends; 1 ms for added rows
//	MariaDB     SET STATEMENT innodb_lock_wait_timeout = 2; 0 for added rows
//	MySQL       the session's innodb_lock_wait_timeout; no statement can set its own
//
// A statement locks rows only until its own commit, so the wait should be short on
// MySQL too, with one exception: a session with autocommit=0 holds the lock for one
// more round trip.
//
// # Sessions
//
// The connections of a *sql.DB have whatever settings the application, the driver or
// the server gave them. Leases work with any of these:
//
//	MySQL, MariaDB  autocommit, completion_type, isolation level, sql_mode, time_zone,
//	                character set, sql_safe_updates, sql_select_limit, binlog_format, clientFoundRows,
//	                interpolateParams, innodb_snapshot_isolation
//	PostgreSQL      default_transaction_isolation and _deferrable, synchronous_commit,
//	                session_replication_role, search_path, client_encoding, TimeZone,
//	                DateStyle, the query modes of pgx
//	all             transactions that the application left open, XA included
//
// The store uses the tables that it finds through search_path. If search_path can
// differ between connections, make sure to give the table a schema. In the following
// situations the store returns an error:
//
//	open transaction on 8 connections in a row       the keeper tries again until ctx ends
//	read-only server or standby, or session (MySQL   [*lease.PermanentError] at once
//	and MariaDB: only where tables are missing)
//	proxy that sends reads to a standby, so that a   [*lease.PermanentError] at once
//	commit can't be verified (PostgreSQL)
//	simple protocol of pgx with                      [*lease.PermanentError] at once
//	standard_conforming_strings=off
//	wrong password, unknown database, no privilege   [*lease.PermanentError] at once
//	trigger, rule, row-level security, view,         [*lease.PermanentError] at once
//	partitioned table on PostgreSQL, or an engine
//	other than InnoDB
//	*sql.DB of another database, nil, or closed      [*lease.PermanentError] at once
//	tables of another protocol version               [*lease.VersionError] at once
//	LOCK TABLES of the application                   error 1100 of the server; the keeper tries again
//
// A connection whose server or session accepts no writes is closed, because a new one
// may reach the new primary or have another setting. On MySQL and MariaDB with
// autocommit=0, a read begins a transaction, so the store ends it; otherwise it would keep
// locks at the isolation level SERIALIZABLE.
//
// # Conflicts
//
// At isolation levels above READ COMMITTED, PostgreSQL may abort one of two concurrent
// updates with error 40001. Clusters and distributed databases return such errors as a
// matter of course:
//
//	PostgreSQL and compatible   40001, 40P01
//	MySQL, MariaDB              1213, 1205, 1020
//	Galera                      1047, 1180: the server has left the cluster
//	Group Replication           3101; 1231, 3796, 3797, 3798: the server has left the group
//	TiDB                        8002, 8022, 9007
//
// The store tries such a statement up to eight times, and on another connection if the
// server has left its cluster. An attempt may have been executed although it returned an
// error. If a later attempt changes nothing, the store therefore reads the row. If the
// row has the new token, the store returns the first error, and the keeper continues as
// after a lost reply.
//
// Open checks the tables even if SkipMigrate is set. To save a round trip, the
// statement that looks for a free row also reads the version of the rows, and checks
// whether there are triggers, rules or row-level security. The store inspects the
// tables in full only if that check finds something, before it adds rows, and when the
// fingerprint changes, which also happens when a table gets another engine. Note that
// it can't detect triggers and rules that are added later. MySQL and MariaDB also hide
// triggers from users who don't have the TRIGGER privilege on the tables.
//
// # Commits that may be lost
//
// PostgreSQL: each write waits for the disk, even if synchronous_commit is off. With
// fsync=off, however, a crash may lose any commit, and only Doctor reports that.
//
// MySQL and MariaDB: a crash may lose commits unless innodb_flush_log_at_trx_commit is
// 1 and, with a binary log, sync_binlog is 1.
//
// Each probe, claim and renewal reads these settings. If commits may be lost, a new
// lease holds off, which means that it issues its first id about MaxClockSkew later. A
// lease that was claimed before the setting changed is not renewed.
//
// Make sure to change these settings in the server's configuration file instead of with
// SET GLOBAL. A value that was set with SET GLOBAL is reset by the same crash that
// loses commits, so afterwards the store can't know that commits may be missing. If
// this has happened, call snowkey.Fence.
//
// # The fingerprint
//
// The fingerprint shows whether the database is still the same one that granted the
// leases, so each claim compares the current fingerprint with the stored one. A
// fingerprint contains:
//
//	PostgreSQL  the cluster's system identifier and timeline; the OIDs of the database and
//	            of both tables; the file of the lease table; the transaction that wrote
//	            the namespace row
//	MySQL       server_uuid, and when the tables were created
//	MariaDB     host name, port and server_id, and when the tables were created
//	Galera      the cluster's UUID, and the position of its view in the cluster's log
//	Group Repl. in multi-primary mode, the group's name and VIEW_ID
//
// This detects a failover, a recovery to a point in time and recreated tables, and on
// PostgreSQL also TRUNCATE, or DELETE followed by INSERT, of both tables.
// Unfortunately, VACUUM FULL and CLUSTER also change the file of the lease table, and
// we can't tell them apart. After them, ids continue up to Window + 2 × MaxClockSkew
// ahead, just as after a failover. See docs/leases.md for what can't be detected, and
// for when you need to call snowkey.Fence.
//
// On PostgreSQL, the role needs EXECUTE on pg_control_system, pg_current_wal_lsn and
// pg_walfile_name. Every role has it by default, except on some hosted services.
//
// Servers that are compatible with MySQL or PostgreSQL may not have all the variables,
// functions and catalogs we read. TiDB, for example, has no log_bin. The store doesn't
// fail on such a server, nor without the privilege above. It just can't tell whether
// the server may lose commits or has been replaced, so each new lease holds off.
//
// # Clusters
//
// The store recognises Galera, and Group Replication in multi-primary mode. There, any
// member may execute a statement. It first applies what was committed on the others:
// statements for Galera set wsrep_sync_wait for themselves. For Group Replication, the
// store sets group_replication_consistency of the session to BEFORE and restores it after
// the statement, which takes two more round trips and leaves the user variable
// @snowkey_was behind.
//
// A view of a cluster is when its present members agreed on each other. It changes
// whenever commits can have been lost. To read it, the user needs SELECT on
// mysql.wsrep_cluster or performance_schema.replication_group_member_stats. Otherwise,
// each new lease holds off. See docs/stores.md for what an operator has to do.
//
// # Replicas
//
// MariaDB servers that replace each other should have different server_ids. They should
// also use binlog_format ROW or MIXED: with STATEMENT, a replica computes the
// fingerprint by itself, so its promotion would not be detected.
//
// # SQLite
//
// SQLite has one writer at a time, which may be a transaction that waits for ids. Leases
// in the same file could not be renewed until it ends. All processes that use an SQLite
// file run on one host, however, so [SQLite] keeps their leases by package filestore, in
// a folder beside the file: those of shop.db are in shop.db-snowkey. A process needs the
// database only when it starts, to find its file.
//
//   - Open creates the folder, with the owner and the group of the file. Those who may
//     write the file may use the folder. To let others do it later, change the
//     permissions of both.
//   - Links to the file lead to the same folder. Hard links don't, and SQLite itself
//     damages a database that is opened by two of them. A container must mount the folder
//     of the file, not the file alone, which SQLite requires as well.
//   - If the database is copied or restored without its folder, or the folder is deleted,
//     ids start above everything that can have been granted, by the host's clock. If the
//     folder is older than the database, see package filestore. If only the database is
//     older, nothing happens to the leases.
//   - If the database is moved while a process uses it, the process gets no further grants.
//   - A database in memory belongs to one process. All of them share a folder for
//     temporary files, which is removed when the last pool is closed.
//
// The store refuses a database without a file on a local disk of this host, such as one
// behind a driver for a server or on a network file system. It can't recognise each of
// them. Use package filestore then, with a directory that all processes share. The error is
// a [*lease.PermanentError], as for tables of an earlier version of Snowkey, for a
// folder that this user may not write, and for a database that is not SQLite.
package sqlstore
