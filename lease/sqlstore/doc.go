// Package sqlstore keeps leases in the application's own database: PostgreSQL,
// MySQL, MariaDB or SQLite. It uses the *sql.DB of the application and imports no
// driver.
//
//	ids, err := snowkey.Open(ctx, sqlstore.Postgres(db), snowkey.Config{})
//
// Package lease describes the protocol. This page describes the tables, the
// statements, and how the store deals with the settings of servers and sessions.
//
// # Tables
//
// There are two tables. snowkey_lease has a row for each worker number.
// snowkey_lease_ns has a row for each namespace and layout. [Store.WithTable]
// chooses other names. Open creates the tables if they are missing.
//
// Where the application may not create tables, run the statements of [Store.DDL] in your
// own migration; the command snowkey init prints them. [Store.Grants] returns the
// privileges that the application needs then:
//
//	snowkey_lease     SELECT, INSERT, UPDATE (token, revision, bound, expires_at, label)
//	snowkey_lease_ns  SELECT, INSERT, UPDATE (fingerprint, fence)
//
// On MySQL and MariaDB these are SELECT, INSERT and UPDATE of whole tables, because
// MariaDB wants UPDATE of each column that INSERT … ON DUPLICATE KEY UPDATE inserts.
//
// Snowkey deletes no rows, and you should not either: a process whose row is
// deleted loses its lease.
//
// Namespaces, layouts, tokens and labels are stored as ASCII with Go's escapes, such as
// gr\u00f6\u00dfe, and an empty text is stored as "-". So sessions with different
// character sets read and write the same name.
//
// Times are integers: microseconds since 1970 by the database's clock. Time zones,
// driver settings and column precision do not affect them.
//
// Processes that wait for a worker number use the index on expires_at to read only the
// row that becomes free next.
//
// The column protocol contains the protocol version, which is 2, and each update has
// this version as a condition. If a table or namespace has another version, the store
// returns a [*lease.VersionError] and writes nothing.
//
// # Statements
//
// A write grants something only after the server has committed it. So package sqlstore
// runs each write on one connection and verifies that it was committed:
//
//	PostgreSQL      The write sets snowkey.write to a random value, local to its
//	                transaction. A second statement reads the setting. If the value
//	                is still there, a transaction is open and nothing is committed.
//	MySQL, MariaDB  SET TRANSACTION, which fails inside a transaction. Then the write,
//	                which also returns whether autocommit is on. If it is off, COMMIT.
//	SQLite          BEGIN IMMEDIATE, the write, COMMIT.
//
// If a connection has an open transaction, the store discards it and runs the write on
// another one. A statement that only reads takes one round trip. Other operations take:
//
//	                               PostgreSQL  MySQL, MariaDB  with autocommit=0
//	renewal, claim or release           2            2                3
//	Open, if the rows exist             3            3                4
//
// If the rows exist, Open probes and then claims. A probe first looks at 32 adjacent
// rows. If none of them is free, or all free rows were left by processes that were
// killed, a second probe follows. Processes that start at the same time may need more
// than one claim. If the namespace is new, Open also adds rows and creates the
// namespace. On SQLite a write is three statements, which run inside the process.
//
// Statements for MySQL and MariaDB contain their values as literals, so the driver
// does not prepare them. PostgreSQL drivers prepare each statement once per connection,
// which takes one more round trip. In pgx this can be switched off.
//
// The store holds a connection only while a call runs. It prepares no statements
// itself and leaves no settings behind in the session, so it works with PgBouncer in
// transaction mode. With pgx, set default_query_exec_mode=exec for versions of
// PgBouncer that do not support prepared statements. A pool of one connection is
// enough if the application never uses it for longer than a quarter of Window at once.
//
// # Waiting for rows
//
// No statement waits long for a row that another statement has locked:
//
//	PostgreSQL  lock_timeout of the write is the time until ctx ends; 1 ms for added rows
//	MariaDB     SET STATEMENT innodb_lock_wait_timeout = 2; 0 for added rows
//	MySQL       the session's innodb_lock_wait_timeout; no statement can set its own
//	SQLite      busy_timeout of the connection
//
// A statement locks rows only until its own commit, so on MySQL the wait is short
// too. The exception is a session with autocommit=0: it holds the lock for one more
// round trip.
//
// # Sessions
//
// The connections of a *sql.DB have the settings that the application, the driver or
// the server gave them. Leases work with any of these:
//
//	MySQL, MariaDB  autocommit, completion_type, isolation level, sql_mode, time_zone,
//	                character set, sql_safe_updates, binlog_format, clientFoundRows,
//	                interpolateParams, innodb_snapshot_isolation
//	PostgreSQL      default_transaction_isolation and _deferrable, synchronous_commit,
//	                session_replication_role, search_path, client_encoding, TimeZone,
//	                DateStyle, the query modes of pgx
//	all             transactions that the application left open, XA included
//
// The store uses the tables that search_path finds, so if search_path differs between
// connections, give the table a schema. The store refuses the following:
//
//	open transaction on 8 connections in a row, or   [*SessionError]; the keeper tries again until
//	on the connection of SQLite                      ctx ends
//	read-only server or standby, or session (MySQL   [*lease.PermanentError] at once
//	and MariaDB: only where tables are missing)
//	simple protocol of pgx with                      [*lease.PermanentError] at once
//	standard_conforming_strings=off
//	wrong password, unknown database, no privilege   [*lease.PermanentError] at once
//	trigger, rule, row-level security, or an engine  [*TableError] in a [*lease.PermanentError] at once
//	other than InnoDB
//	tables of another protocol version               [*lease.VersionError] at once
//	LOCK TABLES of the application                   error 1100 of the server; the keeper tries again
//
// At isolation levels above READ COMMITTED, PostgreSQL may abort one of two concurrent
// updates with error 40001. The keeper then tries again.
//
// Open checks the tables, even if SkipMigrate is set. The statement that looks for a
// free row also checks whether there are triggers, rules or row-level security, and
// reads the version of the rows. The store inspects the tables in full if this check
// finds something, before rows are added, and when the fingerprint changes, which also
// happens when a table gets another engine. Triggers and rules that are added later are
// not detected. MySQL and MariaDB show triggers only to users with the TRIGGER
// privilege on the tables.
//
// # Commits that may be lost
//
// PostgreSQL: each write waits for the disk, even if synchronous_commit is off.
// With fsync=off a crash may lose any commit. Only Doctor reports that.
//
// MySQL and MariaDB: a crash may lose commits unless innodb_flush_log_at_trx_commit
// is 1 and, with a binary log, sync_binlog is 1. SQLite: a crash may lose commits
// unless PRAGMA synchronous is FULL or EXTRA on all connections. Each probe, claim
// and renewal reads these settings. If commits may be lost, a new lease holds off: it
// issues its first id about MaxClockSkew later. A lease that was claimed before the
// setting changed is not renewed. Change these settings in the server's configuration
// file. A value that was set with SET GLOBAL is reset by the crash that loses commits,
// so the store cannot know that commits may be lost. Call snowkey.Fence after such a
// crash.
//
// # The fingerprint
//
// If the database is not the one that granted the leases, its fingerprint differs. So
// each claim compares the current fingerprint with the stored one. A fingerprint contains:
//
//	PostgreSQL  the cluster's system identifier and timeline; the OIDs of both tables;
//	            the file of the lease table; the transaction that wrote the namespace row
//	MySQL       server_uuid, and when the tables were created
//	MariaDB     host name, port and server_id, and when the tables were created
//	SQLite      nothing
//
// So a failover, a recovery to a point in time and recreated tables are detected.
// On PostgreSQL TRUNCATE, and DELETE followed by INSERT, of both tables are detected
// too. VACUUM FULL and CLUSTER also change the file of the lease table. Ids then
// continue up to Window + 2 × MaxClockSkew ahead, as after a failover. What is not
// detected, and when to call snowkey.Fence, is in docs/leases.md.
//
// On PostgreSQL the role needs EXECUTE on pg_control_system, pg_current_wal_lsn and
// pg_walfile_name, which every role has by default, except on some hosted services.
// Without this privilege the store cannot detect a failover, so new leases hold off.
//
// Give MariaDB servers that replace each other different server_ids. Use
// binlog_format ROW or MIXED: with STATEMENT, a replica computes the fingerprint by
// itself, so its promotion is not detected.
//
// A copy of an SQLite file has the same fingerprint as the original. The file must be
// on a local disk. Set busy_timeout below a quarter of Window, because while SQLite
// waits for a lock, a driver may not notice that ctx has ended.
package sqlstore
