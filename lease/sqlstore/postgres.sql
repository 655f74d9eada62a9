-- What PostgreSQL, and servers that are compatible with it, have for the {words} of statements.sql.

-- name: tables
-- This is one statement with a lock, because CREATE TABLE IF NOT EXISTS fails if two
-- sessions create the same table at the same time. The number of the lock is "snowkey"
-- in ASCII.
DO $$
BEGIN
	PERFORM pg_advisory_xact_lock(x'736e6f776b6579'::bigint);

	CREATE TABLE IF NOT EXISTS {ns} (
		namespace   text COLLATE "C" NOT NULL,
		position    bigint NOT NULL,
		layout      text COLLATE "C" NOT NULL,
		fingerprint text COLLATE "C" NOT NULL,
		fence       bigint NOT NULL,
		protocol    bigint NOT NULL DEFAULT {protocol}, -- of Snowkey, not of the application
		PRIMARY KEY (namespace, position),
		UNIQUE (namespace, layout)
	);

	CREATE TABLE IF NOT EXISTS {lease} (
		namespace  text COLLATE "C" NOT NULL,
		layout     text COLLATE "C" NOT NULL,
		worker     bigint NOT NULL,
		token      text COLLATE "C" NOT NULL, -- '-' if the row is free
		revision   bigint NOT NULL,
		bound      bigint NOT NULL,
		expires_at bigint NOT NULL, -- microseconds since 1970; 0 if the row is free
		label      text COLLATE "C" NOT NULL,
		protocol   bigint NOT NULL DEFAULT {protocol},
		PRIMARY KEY (namespace, layout, worker)
	) WITH (fillfactor = 50);

	-- Processes that wait for a worker number read the row that becomes free next.
	CREATE INDEX IF NOT EXISTS {index} ON {lease} (namespace, layout, expires_at);
END
$$

-- name: write
-- We read the clock only once, because it advances within a statement. With 1000000 instead
-- of 1e6, which is numeric too, it would take 0.4 million instructions more.
{begin},
	CAST(extract(epoch FROM clock_timestamp()) * 1e6 AS bigint) AS now)
-- name: read
{to primary}WITH here AS MATERIALIZED (SELECT CAST(extract(epoch FROM clock_timestamp()) * 1e6 AS bigint) AS now)
-- name: now
(SELECT now FROM here)
-- name: answer now
(SELECT now FROM here)
-- name: returning now
RETURNING (SELECT now FROM here)
-- name: or keep it
ON CONFLICT DO NOTHING
-- name: div
/
-- name: cluster
0
-- name: volatile
0

-- name: fingerprint
-- xmin is the transaction that wrote the row of the namespace. It's part of the fingerprint
-- because a row that was restored from a dump has been written by another transaction.
concat_ws('/', {identity}, n.xmin)
-- name: written fingerprint
concat_ws('/', {identity}, txid_current() % 4294967296)

-- name: identity
-- This identifies the cluster, its timeline, the two tables, and the lease table's file,
-- whose path has the OID of the database. We need the timeline because each promotion and
-- each recovery to a point in time starts a new one, the database because CREATE DATABASE …
-- TEMPLATE copies the tables with their identities, and the file because TRUNCATE creates a
-- new one. Note that a standby can't read its timeline. With || instead of concat_ws, a new
-- session would look at more operators, which takes 0.7 million instructions. To read the
-- database from pg_database takes a tenth of a start.
CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE
	concat_ws('/', (pg_control_system()).system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)) END,
	{identity of tables}
-- name: identity of tables
'{ns}'::regclass::oid, '{lease}'::regclass::oid, pg_relation_filepath('{lease}'::regclass)
-- name: unknown 1: identity
'unknown', {identity of tables}
-- name: unknown 1: volatile
1

-- name: suspect
-- These are two subqueries because a new session would have to find out how to compare oids
-- with those of a list, which takes 0.3 million instructions.
(SELECT relhastriggers OR relhasrules OR relrowsecurity OR relkind <> 'r' FROM pg_class WHERE oid = '{lease}'::regclass) OR
	(SELECT relhastriggers OR relhasrules OR relrowsecurity OR relkind <> 'r' FROM pg_class WHERE oid = '{ns}'::regclass)

-- name: not-flushed
SELECT 'not-flushed', 'the server runs with fsync = off', 'set fsync = on'
WHERE current_setting('fsync') = 'off'
-- name: unlogged
SELECT 'unlogged', 'the table ' || oid::regclass || ' is UNLOGGED', 'ALTER TABLE ' || oid::regclass || ' SET LOGGED, and call Fence'
FROM pg_class WHERE oid IN (to_regclass('{lease}'), to_regclass('{ns}')) AND relpersistence <> 'p'
-- name: read-only
SELECT 'read-only', 'the server is a standby, or its transactions are read-only', 'connect to the primary'
WHERE pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'
