-- What MySQL, MariaDB, and servers that are compatible with them, have for the {words} of
-- statements.sql. Only MySQL executes a comment such as /*!80000 1 */, and only MariaDB one
-- such as /*M! 1 */.

-- name: tables
CREATE TABLE IF NOT EXISTS {ns} (
	namespace   VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	position    BIGINT NOT NULL,
	layout      VARCHAR(1020) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	fingerprint VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	fence       BIGINT NOT NULL,
	protocol    BIGINT NOT NULL DEFAULT {protocol}, -- of Snowkey, not of the application
	PRIMARY KEY (namespace, position),
	UNIQUE KEY (namespace, layout)
) ENGINE = InnoDB
;;
CREATE TABLE IF NOT EXISTS {lease} (
	namespace  VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	layout     VARCHAR(1020) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	worker     BIGINT NOT NULL,
	token      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- '-' if the row is free
	revision   BIGINT NOT NULL,
	bound      BIGINT NOT NULL,
	expires_at BIGINT NOT NULL, -- microseconds since 1970; 0 if the row is free
	label      VARCHAR(1020) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	protocol   BIGINT NOT NULL DEFAULT {protocol},
	PRIMARY KEY (namespace, layout, worker),
	KEY (namespace, layout, expires_at) -- for the row that becomes free next
) ENGINE = InnoDB

-- name: schema
DATABASE()
-- name: write
-- This limits the wait for a locked row. In MySQL we can't set it for a single statement.
/*M! SET STATEMENT innodb_lock_wait_timeout = @seconds FOR */
-- name: read
-- name: to primary
-- name: now
-- The time at which the statement began. We can't use UNIX_TIMESTAMP or NOW here, because
-- they're wrong for an hour when daylight saving time ends in the session's time zone.
TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))
-- name: answer now
LAST_INSERT_ID(2 * {now} + @@autocommit) DIV 2
-- name: returning now
-- name: or keep it
-- IGNORE would hide other errors too.
ON DUPLICATE KEY UPDATE namespace = namespace
-- name: div
DIV

-- name: volatile
-- If there is a binary log, commits that aren't in it are rolled back after a crash. On
-- MariaDB, 3 is stricter than 1.
(@@innodb_flush_log_at_trx_commit NOT IN (1, 3) OR @@log_bin = 1 AND @@sync_binlog <> 1)

-- name: fingerprint
-- We have to include the engine, because changing it creates the table again, and this may
-- happen within the same second, so the creation time alone isn't enough.
CONCAT(/*!80000 @@server_uuid */ /*M! CONCAT(@@hostname, ':', @@port, ':', @@server_id) */, '/',
	/*!80000 COALESCE((SELECT SUM(UNIX_TIMESTAMP(create_time) * 2 + (engine <> 'InnoDB')) FROM information_schema.tables WHERE table_schema = {schema} AND table_name IN ('{name}', '{name}_ns')), 0) */
	/*M! COALESCE((SELECT UNIX_TIMESTAMP(create_time) * 2 + (engine <> 'InnoDB') FROM information_schema.tables WHERE table_schema = {schema} AND table_name = '{name}'), 0) +
	COALESCE((SELECT UNIX_TIMESTAMP(create_time) * 2 + (engine <> 'InnoDB') FROM information_schema.tables WHERE table_schema = {schema} AND table_name = '{name}_ns'), 0) */)
-- name: written fingerprint
{fingerprint}

-- name: suspect
EXISTS (SELECT 1 FROM information_schema.triggers WHERE event_object_schema = {schema} AND event_object_table = '{name}') OR
	EXISTS (SELECT 1 FROM information_schema.triggers WHERE event_object_schema = {schema} AND event_object_table = '{name}_ns') OR
	EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = {schema} AND table_name = '{name}' AND table_type LIKE '%VIEW%') OR
	EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = {schema} AND table_name = '{name}_ns' AND table_type LIKE '%VIEW%')

-- name: cluster
{membership}
-- name: membership
-- The cluster that the server belongs to, if each of its members accepts writes: 1 for Galera,
-- 2 for Group Replication in multi-primary mode. A server without these variables is in none.
0 /*!80000 + 2 * (SELECT COUNT(*) = 2 FROM performance_schema.global_variables WHERE variable_name = 'group_replication_single_primary_mode' AND variable_value = 'OFF'
	OR variable_name = 'group_replication_group_name' AND variable_value LIKE '%-%') */ /*M! + (@@wsrep_on AND @@wsrep_provider <> 'none') */
-- name: unknown 1: membership
0

-- name: galera: cluster
-- Any member of a cluster may execute a statement, so the fingerprint must be the same on
-- all of them. It's the name of the cluster, and the view: when its present members agreed
-- on each other. The view changes whenever commits can have been lost. We leave out when the
-- tables were created, because each member has its own time for it.
1
-- name: galera: write
-- wsrep_sync_wait makes a member first apply what was committed on the others.
SET STATEMENT innodb_lock_wait_timeout = @seconds, wsrep_sync_wait = 7 FOR
-- name: galera: read
SET STATEMENT wsrep_sync_wait = 7 FOR
-- name: galera: fingerprint
-- The number of the view is its position in the cluster's log. Views are also counted, but
-- this count restarts with the cluster.
(SELECT CONCAT('galera/', MAX(CONCAT(cluster_uuid, '/', view_seqno))) FROM mysql.wsrep_cluster)

-- name: group: cluster
2
-- name: group: fingerprint
-- The first part of VIEW_ID is new whenever the group is bootstrapped. A server that isn't a
-- member at the moment has none.
(SELECT CONCAT('group/', @@group_replication_group_name, '/', NULLIF(MAX(view_id), '')) FROM performance_schema.replication_group_member_stats)
-- name: group: apply
-- Like wsrep_sync_wait. A single statement can't set it. A server that has left its group is
-- read-only and may answer with old rows, so it gets a value that doesn't exist, which is
-- error 1231.
SET @snowkey_was = @@SESSION.group_replication_consistency, SESSION group_replication_consistency = IF(@@GLOBAL.super_read_only, 'not in the group', 'BEFORE')
-- name: group: restore
SET SESSION group_replication_consistency = @snowkey_was

-- name: not-flushed
SELECT 'not-flushed', 'the server runs with innodb_doublewrite off', 'set innodb_doublewrite = ON'
FROM (SELECT 1 AS one) AS always WHERE CAST(@@innodb_doublewrite AS CHAR) IN ('0', 'OFF')
-- name: engine
SELECT 'engine', CONCAT('the table ', table_name, ' is kept by ', engine), CONCAT('ALTER TABLE ', table_name, ' ENGINE = InnoDB, and call Fence')
FROM information_schema.tables
WHERE table_schema = {schema} AND table_name IN ('{name}', '{name}_ns') AND engine <> 'InnoDB'
-- name: read-only
SELECT 'read-only', 'the server accepts no writes', 'connect to the primary'
FROM (SELECT 1 AS one) AS always WHERE @@read_only = 1
