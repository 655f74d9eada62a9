-- Every foreign key, with one row for each of its columns, in order.
SELECT f.oid::text, f.conname, cn.nspname, c.relname, ca.attname, pn.nspname, p.relname, pa.attname,
	CASE f.confupdtype WHEN 'a' THEN 'NO ACTION' WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' ELSE 'SET DEFAULT' END,
	CASE f.confdeltype WHEN 'a' THEN 'NO ACTION' WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' ELSE 'SET DEFAULT' END,
	CASE f.confmatchtype WHEN 'f' THEN ' MATCH FULL' ELSE '' END,
	CASE WHEN f.condeferrable THEN ' DEFERRABLE' ELSE '' END || CASE WHEN f.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END,
	f.convalidated
FROM pg_constraint f
CROSS JOIN LATERAL generate_subscripts(f.conkey, 1) AS i
JOIN pg_class c ON c.oid = f.conrelid
JOIN pg_namespace cn ON cn.oid = c.relnamespace
JOIN pg_attribute ca ON ca.attrelid = f.conrelid AND ca.attnum = f.conkey[i]
JOIN pg_class p ON p.oid = f.confrelid
JOIN pg_namespace pn ON pn.oid = p.relnamespace
JOIN pg_attribute pa ON pa.attrelid = f.confrelid AND pa.attnum = f.confkey[i]
WHERE f.contype = 'f' AND f.conparentid = 0
ORDER BY cn.nspname, c.relname, f.conname, f.oid, i
