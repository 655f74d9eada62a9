-- Every column of every foreign key, in the order of the constraint. We leave out foreign
-- keys that partitions got from their table, which have a parent.
WITH links AS (
	SELECT f.oid, f.conname, f.conrelid, f.confrelid, f.conkey, f.confkey, i AS position,
		EXISTS (
			SELECT FROM pg_index x
			WHERE x.indrelid = f.conrelid AND x.indisvalid AND x.indpred IS NULL AND x.indnkeyatts >= cardinality(f.conkey)
			AND (x.indkey::smallint[])[0:cardinality(f.conkey) - 1] @> f.conkey
		) AS indexed
	FROM pg_constraint f, generate_subscripts(f.conkey, 1) AS i
	WHERE f.contype = 'f' AND f.conparentid = 0
)
SELECT l.oid::text, l.conname,
	cn.nspname, c.relname, ca.attname, format_type(ca.atttypid, ca.atttypmod),
	(WITH RECURSIVE base(type, typmod) AS (
			SELECT ca.atttypid, ca.atttypmod
			UNION ALL SELECT t.typbasetype, t.typtypmod FROM base JOIN pg_type t ON t.oid = base.type AND t.typtype = 'd')
		SELECT format_type(type, typmod) FROM base JOIN pg_type t ON t.oid = base.type AND t.typtype <> 'd'),
	pn.nspname, p.relname, pa.attname, format_type(pa.atttypid, pa.atttypmod),
	(WITH RECURSIVE base(type, typmod) AS (
			SELECT pa.atttypid, pa.atttypmod
			UNION ALL SELECT t.typbasetype, t.typtypmod FROM base JOIN pg_type t ON t.oid = base.type AND t.typtype = 'd')
		SELECT format_type(type, typmod) FROM base JOIN pg_type t ON t.oid = base.type AND t.typtype <> 'd'),
	l.indexed
FROM links l
JOIN pg_class c ON c.oid = l.conrelid
JOIN pg_namespace cn ON cn.oid = c.relnamespace
JOIN pg_attribute ca ON ca.attrelid = l.conrelid AND ca.attnum = l.conkey[l.position]
JOIN pg_class p ON p.oid = l.confrelid
JOIN pg_namespace pn ON pn.oid = p.relnamespace
JOIN pg_attribute pa ON pa.attrelid = l.confrelid AND pa.attnum = l.confkey[l.position]
ORDER BY cn.nspname, c.relname, l.conname, l.position
