-- name: schemas
SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN {system} ORDER BY SCHEMA_NAME

-- name: settings
SELECT COALESCE(DATABASE(), ''), @@auto_increment_increment, @@auto_increment_offset, @@lower_case_table_names, CURRENT_USER()

-- name: columns
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_TYPE, EXTRA LIKE '%auto_increment%', COALESCE(COLUMN_DEFAULT, '')
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA NOT IN {system}

-- name: constraints
-- Joins of these tables are slow on MySQL and on MariaDB, so we join them in Go
-- instead.
SELECT CONSTRAINT_SCHEMA, CONSTRAINT_NAME, TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME,
	COALESCE(REFERENCED_TABLE_SCHEMA, ''), COALESCE(REFERENCED_TABLE_NAME, ''), COALESCE(REFERENCED_COLUMN_NAME, '')
FROM information_schema.KEY_COLUMN_USAGE
WHERE TABLE_SCHEMA NOT IN {system} AND (REFERENCED_TABLE_NAME IS NOT NULL OR CONSTRAINT_NAME = 'PRIMARY')
ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION

-- name: rules
SELECT CONSTRAINT_SCHEMA, CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS

-- name: tables
SELECT TABLE_SCHEMA, TABLE_NAME, CAST(AUTO_INCREMENT AS CHAR), COALESCE(CREATE_OPTIONS, '') LIKE '%partitioned%'
FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')

-- name: triggers
SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, TRIGGER_NAME, CONCAT(ACTION_TIMING, ' ', EVENT_MANIPULATION)
FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA NOT IN {system} ORDER BY EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, TRIGGER_NAME

-- name: table
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_TYPE
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA NOT IN {system} AND TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION

-- name: kinds
-- In Rails and in Laravel, a row of items can belong either to a user or to a company.
-- The key is in items.owner_id, and items.owner_type has the name of the class, such as
-- User, or a code for it. The information schema works the same on MySQL and Postgres, so
-- both share this query.
SELECT table_schema, table_name, column_name FROM information_schema.columns WHERE LOWER(RIGHT(column_name, 4)) = 'type'
