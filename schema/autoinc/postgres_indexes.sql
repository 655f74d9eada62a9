-- Every index with its columns, those that are only included last, and with what
-- keeps a plan from making another like it.
SELECT n.nspname, c.relname, i.relname, x.indisunique, coalesce(k.conname, ''), coalesce(k.contype::text, ''), x.indnkeyatts,
	coalesce((
		SELECT json_agg(json_build_array(a.attname, CASE WHEN at < x.indnkeyatts AND x.indoption[at] & 1 = 1 THEN ' DESC' ELSE '' END ||
			CASE WHEN at < x.indnkeyatts AND x.indoption[at] & 1 <> (x.indoption[at] & 2) / 2
				THEN CASE x.indoption[at] & 2 WHEN 2 THEN ' NULLS FIRST' ELSE ' NULLS LAST' END ELSE '' END) ORDER BY at)
		FROM generate_series(0, x.indnatts - 1) AS at
		JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[at]
	)::text, '[]'),
	concat_ws(', ',
		CASE WHEN m.amname <> 'btree' THEN 'it is of the kind ' || m.amname END,
		CASE WHEN x.indexprs IS NOT NULL THEN 'it has an expression' END,
		CASE WHEN x.indpred IS NOT NULL THEN 'it is partial' END,
		CASE WHEN NOT x.indisvalid THEN 'it is not valid' END,
		CASE WHEN k.condeferrable OR NOT x.indimmediate THEN 'its constraint is deferrable' END,
		CASE WHEN x.indisreplident THEN 'it is the replica identity' END,
		CASE WHEN x.indisclustered THEN 'the table is clustered on it' END,
		CASE WHEN i.reloptions IS NOT NULL THEN 'it has storage parameters' END,
		CASE WHEN i.reltablespace <> 0 THEN 'it is in a tablespace of its own' END,
		CASE WHEN to_jsonb(x) ->> 'indnullsnotdistinct' = 'true' THEN 'its nulls are not distinct' END,
		CASE WHEN obj_description(i.oid, 'pg_class') IS NOT NULL OR obj_description(k.oid, 'pg_constraint') IS NOT NULL THEN 'it has a comment' END,
		(SELECT 'it has an operator class of its own' FROM pg_opclass o WHERE o.oid = ANY (x.indclass::oid[]) AND NOT o.opcdefault LIMIT 1),
		(SELECT 'it has a collation of its own' FROM generate_series(0, x.indnkeyatts - 1) AS at
			JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[at] WHERE a.attcollation <> x.indcollation[at] LIMIT 1))
FROM pg_index x
JOIN pg_class i ON i.oid = x.indexrelid
JOIN pg_am m ON m.oid = i.relam
JOIN pg_class c ON c.oid = x.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
LEFT JOIN pg_constraint k ON k.conindid = x.indexrelid AND k.conrelid = x.indrelid AND k.contype IN ('p', 'u', 'x')
ORDER BY n.nspname, c.relname, i.relname
