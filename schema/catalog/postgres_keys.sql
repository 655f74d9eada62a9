-- Every auto-increment column, with its sequence. The numbers may come from an identity,
-- from the default of the column, or from the default of its domain. A default with currval
-- only repeats the number of another column, so it is not included.
WITH counting AS (
	SELECT a.attrelid, a.attnum, '' AS expression,
		CASE a.attidentity WHEN 'a' THEN 'identity always' ELSE 'identity by default' END AS mechanism,
		(SELECT min(d.objid) FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
			WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
			AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum AND d.deptype = 'i') AS sequence
	FROM pg_attribute a
	WHERE a.attidentity <> '' AND NOT a.attisdropped
	UNION ALL
	SELECT attrelid, attnum, expression, CASE WHEN expression ~ '^nextval\([^()]*\)$' THEN 'serial' ELSE 'sequence default' END, sequence
	FROM (
		SELECT a.attrelid, a.attnum,
			coalesce(pg_get_expr(f.adbin, f.adrelid), pg_get_expr(t.typdefaultbin, 0), '') AS expression,
			(SELECT min(d.refobjid) FROM pg_depend d JOIN pg_class s ON s.oid = d.refobjid AND s.relkind = 'S'
				WHERE d.refclassid = 'pg_class'::regclass
				AND (d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
					OR f.oid IS NULL AND d.classid = 'pg_type'::regclass AND d.objid = t.oid)) AS sequence
		FROM pg_attribute a
		LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
		LEFT JOIN pg_type t ON t.oid = a.atttypid AND t.typtype = 'd'
		WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attidentity = '' AND a.attgenerated = ''
		AND (f.oid IS NOT NULL OR t.typdefaultbin IS NOT NULL)
	) AS defaults
	WHERE expression ~ '\mnextval\(' OR sequence IS NOT NULL AND expression !~ '\mcurrval\('
)
SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
	(WITH RECURSIVE base(type, typmod) AS (
			SELECT a.atttypid, a.atttypmod
			UNION ALL SELECT t.typbasetype, t.typtypmod FROM base JOIN pg_type t ON t.oid = base.type AND t.typtype = 'd')
		SELECT format_type(type, typmod) FROM base JOIN pg_type t ON t.oid = base.type AND t.typtype <> 'd'),
	k.mechanism, k.expression, c.relkind = 'p',
	coalesce(sn.nspname, ''), coalesce(s.relname, ''),
	CASE WHEN q.seqincrement < 0 THEN q.seqmax ELSE q.seqmin END,
	CASE WHEN q.seqincrement < 0 THEN q.seqmin ELSE q.seqmax END,
	coalesce(q.seqincrement, 0),
	coalesce(has_sequence_privilege(s.oid, 'SELECT') AND has_schema_privilege(s.relnamespace, 'USAGE'), false),
	coalesce(tn.nspname, ''), coalesce(t.relname, ''), coalesce(ta.attname, '')
FROM counting k
JOIN pg_class c ON c.oid = k.attrelid AND c.relkind IN ('r', 'p', 'f')
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
JOIN pg_attribute a ON a.attrelid = k.attrelid AND a.attnum = k.attnum
LEFT JOIN pg_class s ON s.oid = k.sequence
LEFT JOIN pg_namespace sn ON sn.oid = s.relnamespace
LEFT JOIN pg_sequence q ON q.seqrelid = s.oid
LEFT JOIN pg_depend o ON o.classid = 'pg_class'::regclass AND o.objid = s.oid
	AND o.refclassid = 'pg_class'::regclass AND o.refobjsubid > 0 AND o.deptype IN ('a', 'i')
LEFT JOIN pg_class t ON t.oid = o.refobjid
LEFT JOIN pg_namespace tn ON tn.oid = t.relnamespace
LEFT JOIN pg_attribute ta ON ta.attrelid = o.refobjid AND ta.attnum = o.refobjsubid
ORDER BY n.nspname, c.relname, a.attnum
