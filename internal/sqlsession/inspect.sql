-- What Inspect asks the server.

-- name: postgres
-- The version of a table is the default of its column protocol, or 1 if it doesn't have that
-- column. The join with pg_class looks redundant, but a snapshot may not show a table yet
-- that to_regclass already finds.
WITH tables AS (SELECT t.name, c.oid AS id FROM (VALUES {quoted}) AS t (name) LEFT JOIN pg_class c ON c.oid = to_regclass(t.name)),
versions AS (SELECT t.name, COALESCE((SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	WHERE a.attrelid = t.id AND a.attname = 'protocol' AND NOT a.attisdropped), '1') AS version FROM tables t WHERE t.id IS NOT NULL)
SELECT 'missing', name, '' FROM tables WHERE id IS NULL
UNION ALL SELECT 'kind', t.name, CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'p' THEN 'partitioned table' ELSE 'relation of the kind ' || c.relkind::text END
	FROM tables t JOIN pg_class c ON c.oid = t.id WHERE c.relkind <> 'r'
UNION ALL SELECT 'version', name, version FROM versions WHERE version <> {version}
UNION ALL SELECT 'trigger', t.name, g.tgname::text FROM tables t JOIN pg_trigger g ON g.tgrelid = t.id WHERE NOT g.tgisinternal AND g.tgenabled <> 'D'
UNION ALL SELECT 'rule', t.name, r.rulename::text FROM tables t JOIN pg_rewrite r ON r.ev_class = t.id AND r.ev_enabled <> 'D'
UNION ALL SELECT 'row-level security', name, '' FROM tables WHERE id IS NOT NULL AND row_security_active(id)

-- name: mysql
-- For one table. MariaDB opens every table, unless the query asks for a single table of a
-- single schema.
SELECT 'kind', table_name, LOWER(table_type) FROM information_schema.tables
WHERE table_schema = {schema} AND table_name = {name} AND table_type LIKE '%VIEW%'
UNION ALL SELECT CASE WHEN c.column_name IS NULL THEN 'missing' ELSE 'version' END, {name}, COALESCE(c.column_default, '1') FROM (SELECT 1 AS one) always
LEFT JOIN (SELECT column_name, column_default FROM information_schema.columns
	WHERE table_schema = {schema} AND table_name = {name} AND column_name IN ('protocol', 'bound') ORDER BY column_name DESC LIMIT 1) c ON 1 = 1
WHERE COALESCE(c.column_default, '-') <> {version}
UNION ALL SELECT 'engine', table_name, engine FROM information_schema.tables
WHERE table_schema = {schema} AND table_name = {name} AND engine <> 'InnoDB'
UNION ALL SELECT 'trigger', event_object_table, trigger_name FROM information_schema.triggers
WHERE event_object_schema = {schema} AND event_object_table = {name}

-- name: sqlite
WITH versions AS (SELECT m.name, COALESCE((SELECT c.dflt_value FROM pragma_table_info(m.name, {schema}) c WHERE c.name = 'protocol'), '1') AS version
	FROM {main}sqlite_master m WHERE m.type = 'table' AND m.name = {name})
SELECT 'missing', {name}, '' WHERE NOT EXISTS (SELECT 1 FROM versions)
UNION ALL SELECT 'version', name, version FROM versions WHERE version <> {version}
UNION ALL SELECT 'trigger', m.tbl_name, m.name FROM {main}sqlite_master m WHERE m.type = 'trigger' AND m.tbl_name = {name}
