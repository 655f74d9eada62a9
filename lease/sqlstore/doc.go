// Package sqlstore keeps leases in the application's own database: PostgreSQL, MySQL or
// MariaDB, or for SQLite a folder beside the database file. It uses your *sql.DB and
// imports no driver.
//
//	ids, err := snowkey.Open(ctx, sqlstore.Postgres(db), snowkey.Config{})
//
// Most programs don't need the rest of this page. It describes the tables, the statements,
// and which settings of the server and its sessions matter. Package lease describes the
// protocol.
//
// # Tables
//
// The store uses two tables: snowkey_lease has a row for each worker number, and
// snowkey_lease_ns a row for each namespace and layout. To use different names, call
// [Store.WithTable]. snowkey.Open creates the tables if they're missing.
//
// If the application isn't allowed to create tables, add the statements from [Store.DDL],
// or from the command snowkey init, to your own migrations. The application then only
// needs the privileges in [Store.Grants].
//
// Don't delete rows from these tables. If you delete the row of a process, it loses its
// lease. Snowkey itself never deletes rows.
//
// Namespaces, layouts, tokens and labels are stored as ASCII with Go's escapes, such as
// gr\u00f6\u00dfe, so that they don't depend on the character set of a session. An empty
// string is stored as "-".
//
// Times are stored as integers: microseconds since 1970 by the database's clock. They
// don't depend on time zones, driver settings or the precision of columns.
//
// The index on expires_at is for processes that wait for a worker number. With it, they
// only read the row that becomes free next.
//
// The column protocol contains the protocol version (currently 2). If a table or namespace
// has a different version, the store returns a [*lease.VersionError] and writes nothing.
//
// # Statements
//
// A write only grants ids once the server has committed it. However, a connection from
// your *sql.DB might have an open transaction or autocommit turned off. The store
// therefore runs each write on a single connection, and verifies that it was committed:
//
//	PostgreSQL      The write sets snowkey.write to a random value, local to its
//	                transaction. A second statement reads the setting. If the value
//	                is still there, a transaction is open and nothing is committed.
//	MySQL, MariaDB  SET TRANSACTION, which fails inside a transaction. Then the write,
//	                which also returns whether autocommit is on. If it is off, COMMIT.
//
// If the connection has an open transaction, the store discards the connection and tries
// the write again on another one.
//
// This table shows how many round trips each operation takes. Statements that only read
// take one:
//
//	                               PostgreSQL  MySQL, MariaDB  with autocommit=0
//	renewal, claim or release           2            2                3
//	Open, if the rows exist             3            4                6
//
// If the rows exist, Open is a probe followed by a claim. Open probes again if all of the
// 32 adjacent rows that the first probe reads are taken, or if the only free ones were
// left behind by killed processes. When many processes start at the same time, it may also
// have to retry the claim. For a new namespace, Open needs a few more statements to create
// the namespace and its rows.
//
// Drivers for PostgreSQL prepare each statement once per connection, which costs another
// round trip. With pgx you can turn this off. Drivers for MySQL and MariaDB don't prepare
// the store's statements, because these contain all values as literals.
//
// The store reserves one connection of the *sql.DB for as long as the process claims or
// holds a lease. This allows it to renew the lease even while every other connection is
// used by transactions waiting for ids. All stores on the same *sql.DB share the reserved
// connection, including those of package segmentstore. While it's busy with a slow
// statement, other statements of the stores use connections from the pool. If it has been
// idle for a second, the store checks it before use, and replaces it if it's broken.
//
// With SetMaxOpenConns(1), the store can't reserve a connection, and Open logs a warning.
// Ids then stop during transactions longer than Window, and calls fail after
// snowkey.Config.MaxBlocked with a [lease.BlockedError]. For a pgxpool behind
// stdlib.OpenDBFromPool, the store can't see the limit, so make sure that it's at least 2.
//
// You can use the store with PgBouncer in transaction mode, because the store prepares no
// statements itself and doesn't change the settings of a session. If your version of
// PgBouncer doesn't support prepared statements, set default_query_exec_mode=exec in
// pgx. For Pgpool-II, read-only statements start with /*NO LOAD BALANCE*/, which sends
// them to the primary. For other proxies, see docs/stores.md.
//
// # Waiting for rows
//
// If another statement has locked a row, the store waits for it only this long:
//
//	PostgreSQL  lock_timeout of the write is the time until ctx ends; 1 ms for added rows
//	MariaDB     SET STATEMENT innodb_lock_wait_timeout = 2; 0 for added rows
//	MySQL       the session's innodb_lock_wait_timeout; no statement can set its own
//
// Waits should be short on MySQL as well, because each of the store's statements only
// locks rows until its own commit. With autocommit=0, that's one round trip later.
//
// # Sessions
//
// Connections of a *sql.DB may have settings from the application, the driver or the
// server. Leases work with any value of these:
//
//	MySQL, MariaDB  autocommit, completion_type, isolation level, sql_mode, time_zone,
//	                character set, sql_safe_updates, sql_select_limit, binlog_format, clientFoundRows,
//	                interpolateParams, innodb_snapshot_isolation
//	PostgreSQL      default_transaction_isolation and _deferrable, synchronous_commit,
//	                session_replication_role, search_path, client_encoding, TimeZone,
//	                DateStyle, the query modes of pgx
//	all             transactions that the application left open, XA included
//
// On PostgreSQL, the server finds the tables through search_path. If your connections may
// have different values of search_path, put a schema in front of the table name with
// [Store.WithTable].
//
// If 8 connections in a row have an open transaction, or the application uses LOCK TABLES
// (error 1100), the write fails and the keeper tries it again. Open doesn't try again if
// the tables have another protocol version, for which it returns a [*lease.VersionError],
// or in these cases, for which it returns a [*lease.PermanentError]:
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
// If the server or the session accepts no writes, the store also closes the connection,
// because a new one may reach the new primary, or have a different setting.
//
// On MySQL and MariaDB with autocommit=0, even a read begins a transaction. The store ends
// it after each read, so that it keeps no locks.
//
// # Conflicts
//
// The store retries a statement that failed because of a concurrent one. On PostgreSQL,
// this happens at isolation levels above READ COMMITTED. On clusters and distributed
// databases, it's routine. The store recognises conflicts by their error numbers, which
// are in internal/sqldialect, and makes up to eight attempts. If the server has left its
// cluster, it switches to another connection. An attempt that returned an error might still
// have been executed. If a later attempt changes nothing, the store therefore reads the
// row. If the row has the new token, the store returns the error of the first attempt, and
// the keeper treats it like a lost reply.
//
// # Checks of the tables
//
// Open checks the tables for triggers, rules, row-level security, and their protocol
// version, even if SkipMigrate is set. The statement that looks for a free row does this,
// which saves a round trip. If it finds something, the store inspects the tables fully. It
// also does so before adding rows, and when the fingerprint changes (which it does when a
// table gets another engine).
//
// The store can't detect triggers or rules that are added later. MySQL and MariaDB also
// hide triggers from users without the TRIGGER privilege on the tables.
//
// # Commits that may be lost
//
// Leases are only safe if the server keeps the commits it has acknowledged, which requires
// the settings in docs/leases.md#durability. On PostgreSQL, synchronous_commit may be off,
// because each of the store's writes waits for the disk.
//
// On MySQL and MariaDB, each probe, claim and renewal reads these settings. If commits
// might be lost, new leases begin with a hold-off, and the first id is issued about
// MaxClockSkew later. Leases that were claimed before the settings changed aren't renewed.
// A crash resets what SET GLOBAL has changed, so the store can't know afterwards that
// commits may be missing.
//
// # The fingerprint
//
// The store uses a fingerprint to detect that the database has been replaced or restored.
// Each claim compares the current fingerprint with the one in the namespace's row. It
// consists of:
//
//	PostgreSQL  the cluster's system identifier and timeline; the OIDs of the database and
//	            of both tables; the file of the lease table; the transaction that wrote
//	            the namespace row
//	MySQL       server_uuid, and when the tables were created
//	MariaDB     host name, port and server_id, and when the tables were created
//	Galera      the cluster's UUID, and the position of its view in the cluster's log
//	Group Repl. in multi-primary mode, the group's name and VIEW_ID
//
// The fingerprint changes in a failover, in point-in-time recovery, and when the tables
// are recreated. On PostgreSQL, it also changes with TRUNCATE of both tables, or DELETE
// followed by INSERT. See docs/leases.md for what it doesn't detect, and for when you must
// call snowkey.Fence.
//
// On PostgreSQL, VACUUM FULL and CLUSTER of the lease table also change the fingerprint.
// They have the same effect as a failover: the next ids are up to Window + 2 ×
// MaxClockSkew ahead of the clock.
//
// To read the fingerprint on PostgreSQL, the role needs EXECUTE on pg_control_system,
// pg_current_wal_lsn and pg_walfile_name. Every role has it by default, except on some
// hosted services.
//
// If a privilege is missing, or a server that is compatible with MySQL or PostgreSQL lacks
// some of the variables, functions and catalogs (TiDB has no log_bin, for example), leases
// still work. The store then can't tell whether the server may lose commits or has been
// replaced, so each new lease begins with a hold-off.
//
// # Clusters
//
// On Galera, and on Group Replication in multi-primary mode, any member may execute a
// statement of the store. It first applies everything that was committed on the other
// members. On Galera, each statement sets wsrep_sync_wait for itself. On Group
// Replication, the store sets the session's group_replication_consistency to BEFORE, and
// restores it after the statement. This costs two more round trips, and leaves a user
// variable, @snowkey_was.
//
// To detect that a cluster has lost commits, the store reads the cluster's view. A cluster
// gets a new view whenever a member joins or leaves, which includes every event that can
// lose commits. Reading it requires SELECT on mysql.wsrep_cluster or
// performance_schema.replication_group_member_stats. Without this privilege, each new
// lease begins with a hold-off. See docs/stores.md for what operators must do.
//
// # Replicas
//
// MariaDB servers that may replace each other should have different server_ids, and use
// binlog_format ROW or MIXED. With STATEMENT, the store can't detect that a replica was
// promoted.
//
// # SQLite
//
// For SQLite, leases are in files, in a folder beside the database file: shop.db has its
// leases in shop.db-snowkey. In the database itself, a long write transaction would
// prevent their renewal, because SQLite has only one writer at a time. [SQLite] uses
// package filestore for the files. A process only uses the database when it starts, to
// find its file.
//
//   - Open creates the folder with the owner and group of the database file. Users who may
//     write to the file may use the folder. If you change the file's permissions later,
//     change the folder's as well.
//   - You can open the database through symbolic links, which lead to the same folder, but
//     not through hard links.
//   - If you copy or restore the database without its folder, or delete the folder, ids
//     start above anything that could have been granted, by the host's clock. If you
//     restore the folder, see package filestore.
//   - If you move the database while a process uses it, the process gets no further ids
//     after those it has been granted.
//   - The leases of in-memory databases are in the memory of the process. All of its
//     in-memory databases share them.
//
// If a SQLite database has no file on a local disk of this host, Open returns a
// [*lease.PermanentError]. Examples are a driver that talks to a server, or a file on a
// network file system (the store can't recognise all of these). Use package filestore
// instead, with a directory shared by all processes. Open returns the same error for
// tables from an earlier version of Snowkey, for a folder this user may not write to, and
// for a database that isn't SQLite.
package sqlstore
