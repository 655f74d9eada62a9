-- name: columns
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_TYPE, IS_NULLABLE = 'YES', COALESCE(COLUMN_DEFAULT, 'NULL') <> 'NULL' OR EXTRA LIKE '%auto_increment%',
	EXTRA LIKE '%GENERATED%' AND EXTRA NOT LIKE '%DEFAULT_GENERATED%', EXTRA LIKE '%INVISIBLE%', COALESCE(GENERATION_EXPRESSION, ''), '', '', false
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA NOT IN {system} ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION

-- name: tables
SELECT TABLE_SCHEMA, TABLE_NAME, COALESCE(ENGINE, ''), TABLE_TYPE FROM information_schema.TABLES
WHERE TABLE_SCHEMA NOT IN {system} AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')

-- name: privileges
-- A query for the privileges that the user has on a table.
SELECT p.PRIVILEGE_TYPE FROM (
	SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES
	UNION ALL SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES WHERE ? LIKE TABLE_SCHEMA
	UNION ALL SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.TABLE_PRIVILEGES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?) AS p
WHERE p.GRANTEE = CONCAT("'", REPLACE(CURRENT_USER(), "@", "'@'"), "'")

-- name: unique
SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COALESCE(COLUMN_NAME, '') FROM information_schema.STATISTICS
WHERE NON_UNIQUE = 0 AND TABLE_SCHEMA NOT IN {system} ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX

-- name: conditions
-- The servers have different columns in common here: MariaDB also the name of the table.
SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, CHECK_CLAUSE
FROM information_schema.CHECK_CONSTRAINTS NATURAL JOIN information_schema.TABLE_CONSTRAINTS
WHERE TABLE_SCHEMA NOT IN {system} ORDER BY 1, 2, 3

-- name: other engines
SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES
WHERE TABLE_TYPE = 'BASE TABLE' AND COALESCE(ENGINE, '') <> 'InnoDB' AND TABLE_SCHEMA NOT IN {system}

-- name: sizes
SELECT t.TABLE_SCHEMA, t.TABLE_NAME, COALESCE(t.TABLE_ROWS, 0), COALESCE(t.DATA_LENGTH, 0),
	(SELECT COUNT(DISTINCT s.INDEX_NAME) FROM information_schema.STATISTICS s WHERE s.TABLE_SCHEMA = t.TABLE_SCHEMA AND s.TABLE_NAME = t.TABLE_NAME), COALESCE(t.INDEX_LENGTH, 0)
FROM information_schema.TABLES t WHERE t.TABLE_SCHEMA NOT IN {system} AND t.TABLE_TYPE = 'BASE TABLE'

-- name: holder
-- MySQL doesn't tell everybody which tables a transaction has used, so we look at all
-- transactions of the plan's database, which takes the place of %s.
SELECT CONCAT('the process ', t.trx_mysql_thread_id, ' of ', COALESCE(p.USER, ''), ', whose transaction is ', TIMESTAMPDIFF(SECOND, t.trx_started, NOW()), ' s old: ', COALESCE(LEFT(p.INFO, 200), 'idle'))
FROM information_schema.INNODB_TRX t JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id AND p.DB = %s
WHERE t.trx_mysql_thread_id <> CONNECTION_ID() AND t.trx_started < NOW() - INTERVAL 1 SECOND ORDER BY t.trx_started LIMIT 1

-- name: ledger
SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {name}

-- name: read only
SELECT @@read_only

-- name: lock
SELECT COALESCE(GET_LOCK({lock}, 0), 0)

-- name: unlock
DO RELEASE_LOCK({lock})

-- name: locked by
SELECT CONCAT(ID, ' of ', USER, '@', HOST, ', ', COMMAND, ' for ', TIME, ' s') FROM information_schema.PROCESSLIST WHERE ID = IS_USED_LOCK({lock})

-- name: own triggers
-- With whether the user can create each of them again.
SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, TRIGGER_NAME, DEFINER = CURRENT_USER() OR EXISTS (SELECT 1 FROM information_schema.USER_PRIVILEGES
	WHERE GRANTEE = CONCAT("'", REPLACE(CURRENT_USER(), "@", "'@'"), "'") AND PRIVILEGE_TYPE IN ('SUPER', 'SET USER', 'SET_USER_ID', 'SET_ANY_DEFINER'))
FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA NOT IN {system} ORDER BY EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER

-- name: plain
sql_mode = {mode}

-- name: wait
innodb_lock_wait_timeout = 1

-- name: loose
-- Without a strict mode, a missing key becomes 0 instead of an error.
sql_mode = ''

-- name: session
autocommit = 1
foreign_key_checks = 1
sql_mode = {mode}
lock_wait_timeout = {seconds}
innodb_lock_wait_timeout = {seconds}

-- name: session of mariadb
-- Otherwise the server would end a long ALTER (1969). With READ COMMITTED, a batch locks the
-- rows that it copies, but no gaps between them, for which writers would wait or end in a
-- deadlock; and what sorts rows for new keys locks none. Binary logs of statements don't
-- allow it.
max_statement_time = 0
tx_isolation = IF(@@binlog_format = 'STATEMENT', 'REPEATABLE-READ', 'READ-COMMITTED')

-- name: session of mysql
-- Otherwise the server would show the counters of yesterday. See above for the isolation.
information_schema_stats_expiry = 0
transaction_isolation = IF(@@binlog_format = 'STATEMENT', 'REPEATABLE-READ', 'READ-COMMITTED')

-- name: begin
BEGIN

-- name: create ledger
CREATE TABLE {table} (plan VARCHAR(100) NOT NULL, step VARCHAR(100) NOT NULL, state VARCHAR(100) NOT NULL, detail VARCHAR(100) NOT NULL, at timestamp DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (plan, step))

-- name: upsert
ON DUPLICATE KEY UPDATE state = VALUES(state), detail = VALUES(detail), at = CURRENT_TIMESTAMP

-- name: row without values
() VALUES ()

-- name: create map
-- The old keys keep their type and collation.
CREATE TABLE {map} (new BIGINT NOT NULL, PRIMARY KEY (old), UNIQUE KEY (new)) SELECT {key} AS old, 0 AS new FROM {table} WHERE FALSE

-- name: create order
CREATE TABLE {order} (n BIGINT PRIMARY KEY, at BIGINT NOT NULL) SELECT 0 AS n, {key} AS old, 0 AS at FROM {table} WHERE FALSE

-- name: next in order
SELECT n, (SELECT max(n) FROM {order}), at FROM {order} WHERE n > ? ORDER BY n LIMIT ?

-- name: assign
INSERT INTO {map} (old, new) SELECT o.old, i.id FROM JSON_TABLE(@snowkey_ids, '$[*]' COLUMNS (n BIGINT PATH '$[0]', id BIGINT PATH '$[1]')) AS i JOIN {order} AS o ON o.n = i.n

-- name: microseconds
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {column})

-- name: spread
{from} + {span} DIV (count(*) OVER () + 1) * row_number() OVER (ORDER BY {key})

-- name: generated
SELECT {key} FROM {table} WHERE {key} >= {floor} LIMIT 1

-- name: check
{query}

-- name: trial
BEGIN

-- name: unfinished
-- The first step of another plan that was applied, in a phase that isn't complete.
SELECT p.plan, p.step FROM {table} AS p WHERE p.plan <> {plan} AND p.state IN ('started', 'done') AND p.step LIKE '%/%'
	AND NOT EXISTS (SELECT 1 FROM {table} AS q WHERE q.plan = p.plan AND q.step = SUBSTR(p.step, 1, INSTR(p.step, '/') - 1)) ORDER BY p.plan, p.step LIMIT 1

-- name: load
-- Replicas lag by the longest statement, which is short.
SELECT 0, 0
