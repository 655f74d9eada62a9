-- name: columns
SELECT 'main', t.name, x.name, x.type, x.type, x."notnull" = 0, x.dflt_value IS NOT NULL, x.hidden > 1, false, ''
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

-- name: primary
-- The primary keys that have one column.
SELECT 'main', t.name, max(x.name) FROM pragma_table_list AS t JOIN pragma_table_xinfo(t.name, 'main') AS x
WHERE t.schema = 'main' AND t.type = 'table' AND x.pk > 0 GROUP BY t.name HAVING count(*) = 1 ORDER BY t.name
