-- Every index with its columns, including those in its expressions. The last column says
-- what keeps us from creating another index like it.
SELECT n.nspname, c.relname, i.relname, x.indisunique, coalesce(k.conname, ''), coalesce(k.contype::text, ''),
	coalesce((
		SELECT json_agg(json_build_array(a.attname) ORDER BY a.attnum)
		FROM pg_attribute a
		WHERE a.attrelid = x.indrelid AND a.attnum > 0 AND (a.attnum = ANY (x.indkey::int2[]) OR EXISTS (
			SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = x.indexrelid
			AND d.refclassid = 'pg_class'::regclass AND d.refobjid = x.indrelid AND d.refobjsubid = a.attnum))
	)::text, '[]'),
	CASE WHEN k.condeferrable THEN ' DEFERRABLE' ELSE '' END || CASE WHEN k.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END,
	-- Without ONLY, CREATE INDEX attaches existing indexes of the partitions to the new index.
	coalesce('ALTER TABLE ' || format('%I.%I', n.nspname, c.relname) || ' ADD CONSTRAINT ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid), replace(pg_get_indexdef(x.indexrelid),
		format(' ON ONLY %I.%I USING ', n.nspname, c.relname), format(' ON %I.%I USING ', n.nspname, c.relname))),
	x.indexprs IS NOT NULL OR x.indpred IS NOT NULL, h.inhparent IS NOT NULL,
	x.indisclustered, coalesce(obj_description(i.oid, 'pg_class'), ''), coalesce(obj_description(k.oid, 'pg_constraint'), ''),
	concat_ws(', ',
		CASE WHEN k.contype = 'x' THEN 'it excludes rows' END,
		CASE WHEN NOT x.indisvalid THEN 'it is not valid' END,
		CASE WHEN x.indisreplident THEN 'it is the replica identity' END,
		CASE WHEN i.reltablespace <> 0 THEN 'it is in a tablespace of its own' END)
FROM pg_index x
JOIN pg_class i ON i.oid = x.indexrelid
JOIN pg_class c ON c.oid = x.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
LEFT JOIN pg_constraint k ON k.conindid = x.indexrelid AND k.conrelid = x.indrelid AND k.contype IN ('p', 'u', 'x')
LEFT JOIN pg_inherits h ON h.inhrelid = x.indexrelid
LEFT JOIN pg_class hi ON hi.oid = h.inhparent
-- If a partition has several equal indexes, Postgres attaches the first one to the first
-- index of the table, so the order matters.
ORDER BY n.nspname, c.relname, hi.relname, i.relname
