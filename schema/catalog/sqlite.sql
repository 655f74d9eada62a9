-- name: schemas
SELECT name, name, true FROM pragma_database_list WHERE name <> 'temp' ORDER BY seq

-- name: columns
-- The primary key is an alias of the rowid if it is a single column whose type is
-- exactly INTEGER, and if it doesn't have an index of its own. In a table WITHOUT
-- ROWID it does.
SELECT {name}, t.name, x.name, x.type, x.type,
	CASE WHEN x.pk = 1 AND upper(x.type) = 'INTEGER'
		AND (SELECT count(*) FROM pragma_table_xinfo(t.name, {name}) WHERE pk > 0) = 1
		AND NOT EXISTS (SELECT 1 FROM pragma_index_list(t.name, {name}) WHERE origin = 'pk') THEN 'rowid' ELSE '' END,
	m.sql, x.hidden > 1, '', '', ''
FROM pragma_table_list AS t
JOIN {schema}.sqlite_master AS m ON m.type = 'table' AND m.name = t.name
JOIN pragma_table_xinfo(t.name, {name}) AS x
WHERE t.schema = {name} AND t.type = 'table'
ORDER BY t.name, x.pk

-- name: primary keys
SELECT {name}, t.name, x.name
FROM pragma_table_list AS t JOIN pragma_table_xinfo(t.name, {name}) AS x
WHERE t.schema = {name} AND t.type = 'table' AND x.pk > 0
ORDER BY t.name, x.pk

-- name: foreign keys
-- A foreign key without columns references the primary key. SQLite also accepts one that
-- references something that doesn't exist, which we leave out.
SELECT printf('%Q %Q %d', {name}, t.name, f.id), '',
	{name}, t.name, c.name, {name}, q.name, p.name, f.on_update, f.on_delete, '', '', true
FROM pragma_table_list AS t
JOIN pragma_foreign_key_list(t.name, {name}) AS f
JOIN pragma_table_xinfo(t.name, {name}) AS c ON c.name = f."from" COLLATE NOCASE
JOIN pragma_table_list(f."table") AS q ON q.schema = {name} AND q.type = 'table'
JOIN pragma_table_xinfo(q.name, {name}) AS p ON p.name = f."to" COLLATE NOCASE OR f."to" IS NULL AND p.pk = f.seq + 1
WHERE t.schema = {name} AND t.type = 'table'
ORDER BY t.name, f.id, f.seq

-- name: triggers
SELECT {name}, tbl_name, name, '' FROM {schema}.sqlite_master WHERE type = 'trigger' ORDER BY tbl_name, name

-- name: table
SELECT t.schema, t.name, x.name, x.type, x.type
FROM pragma_database_list AS d JOIN pragma_table_list AS t ON t.schema = d.name JOIN pragma_table_xinfo(t.name, t.schema) AS x
WHERE t.name = ?2 COLLATE NOCASE AND (?1 = '' OR d.name = ?1 COLLATE NOCASE) AND d.name <> 'temp' AND t.type IN ('table', 'view')
ORDER BY d.seq, x.cid
