-- Every integer column, with everything that decides how it may be altered.
SELECT n.nspname, c.relname, a.attname, c.relkind::text, a.attinhcount > 0, a.attnotnull, t.typtype = 'd',
	coalesce(pg_get_expr(f.adbin, f.adrelid), ''), a.attidentity::text, a.attgenerated::text, a.attacl IS NOT NULL,
	coalesce(col_description(c.oid, a.attnum), ''),
	-- From Postgres 18 on, NOT NULL constraints have names.
	coalesce((SELECT k.conname FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum]), ''),
	concat_ws(', ', CASE WHEN a.attstattarget >= 0 THEN 'SET STATISTICS ' || a.attstattarget END,
		-- An option whose name begins with pg_ is the server's own, such as pg_attver of 15.20.
		'SET (' || (SELECT string_agg(o, ', ') FROM unnest(a.attoptions) o WHERE o !~ '^pg_') || ')')
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'f')
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped
ORDER BY n.nspname, c.relname, a.attnum
