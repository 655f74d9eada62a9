-- name: columns
SELECT 'main', t.name, x.name, x.type, x.type, x."notnull" = 0, x.dflt_value IS NOT NULL, x.hidden > 1, false, '', '', '', false
FROM pragma_table_list AS t JOIN pragma_table_xinfo(t.name, 'main') AS x WHERE t.schema = 'main' AND t.type = 'table' ORDER BY t.name, x.cid

-- name: database
SELECT coalesce(file, '') FROM pragma_database_list WHERE name = 'main'

-- name: objects
SELECT type, name, tbl_name, sql FROM main.sqlite_master WHERE sql IS NOT NULL ORDER BY type, name

-- name: orphans
SELECT f."table", f.rowid, f.parent FROM pragma_foreign_key_check AS f LIMIT 1

-- name: unique
SELECT 'main', t.name, i.name, COALESCE(c.name, '')
FROM pragma_table_list AS t JOIN pragma_index_list(t.name, 'main') AS i JOIN pragma_index_info(i.name, 'main') AS c
WHERE t.schema = 'main' AND t.type = 'table' AND i."unique" ORDER BY t.name, i.name, c.seqno

-- name: ledger
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = {name} AND {schema} = 'main'

-- name: wait
busy_timeout = 1000

-- name: session
busy_timeout = {milliseconds}
foreign_keys = 1
legacy_alter_table = 0

-- name: begin
-- This excludes other writers.
BEGIN IMMEDIATE

-- name: create ledger
CREATE TABLE {table} (plan TEXT NOT NULL, step TEXT NOT NULL, state TEXT NOT NULL, detail TEXT NOT NULL, at timestamp DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (plan, step))

-- name: upsert
ON CONFLICT (plan, step) DO UPDATE SET state = excluded.state, detail = excluded.detail, at = CURRENT_TIMESTAMP

-- name: row without values
DEFAULT VALUES

-- name: create map
CREATE TABLE {map} (old {type} NOT NULL PRIMARY KEY, new bigint NOT NULL UNIQUE)

-- name: create order
CREATE TABLE {order} (n bigint PRIMARY KEY, old {type} NOT NULL, at bigint NOT NULL)

-- name: next in order
SELECT n, (SELECT max(n) FROM {order}), at FROM {order} WHERE n > ? ORDER BY n LIMIT ?

-- name: assign
INSERT INTO {map} (old, new) SELECT o.old, i.id FROM (SELECT json_extract(value, '$[0]') AS n, json_extract(value, '$[1]') AS id FROM json_each(?)) AS i JOIN {order} AS o ON o.n = i.n

-- name: microseconds
-- Times without a zone are taken for UTC. The drivers of SQLite also write times as Go prints
-- them; the rest makes a time in SQL of such a text.
CASE WHEN typeof({column}) = 'integer' THEN {column} * CASE WHEN {column} > 100000000000 THEN 1000 ELSE 1000000 END ELSE CAST((coalesce(julianday({column}), julianday(substr({column}, 1, 10 + instr(substr({column}, 12), ' ')) || substr({column}, 12 + instr(substr({column}, 12), ' '), 3) || ':' || substr({column}, 15 + instr(substr({column}, 12), ' '), 2))) - 2440587.5) * 86400000 + 0.5 AS INTEGER) * 1000 END

-- name: spread
{from} + {span} / (count(*) OVER () + 1) * row_number() OVER (ORDER BY {key})

-- name: generated
SELECT {key} FROM {table} WHERE {key} >= {floor} LIMIT 1

-- name: check
{query}

-- name: trial
BEGIN IMMEDIATE

-- name: unfinished
-- The first step of another plan that was applied, in a phase that isn't complete.
SELECT p.plan, p.step FROM {table} AS p WHERE p.plan <> {plan} AND p.state IN ('started', 'done') AND p.step LIKE '%/%'
	AND NOT EXISTS (SELECT 1 FROM {table} AS q WHERE q.plan = p.plan AND q.step = substr(p.step, 1, instr(p.step, '/') - 1)) ORDER BY p.plan, p.step LIMIT 1

-- name: conditions
-- SQLite doesn't list them.
SELECT '', '', '', '' WHERE false

-- name: sizes
-- SQLite has no estimates.
SELECT '', '', 0, 0, 0, 0 WHERE false

-- name: other engines
SELECT '', '' WHERE false

-- name: load
SELECT 0, 0

-- name: read only
SELECT 0

-- name: lock
-- Every step runs in a transaction that excludes other writers, and starts by reading the
-- progress.
SELECT 1

-- name: unlock
SELECT 1
