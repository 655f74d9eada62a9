-- name: schemas
SELECT nspname, nspname, false FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY nspname

-- name: keys
-- Every auto-increment column, with its sequence. The numbers may come from an identity,
-- from the default of the column, or from the default of its domain. A default with currval
-- only repeats the number of another column, so it is not included.
--
-- A table inherits a key if its column takes numbers from the same sequence. A partition
-- does even if its column doesn't count: in Postgres 16 and earlier, partitions don't
-- inherit an identity.
WITH RECURSIVE counting AS (
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
), family (root, attname, sequence, partitioned, member, depth) AS (
	SELECT k.attrelid, a.attname, k.sequence, c.relkind = 'p', k.attrelid, 0
	FROM counting k
	JOIN pg_class c ON c.oid = k.attrelid
	JOIN pg_attribute a ON a.attrelid = k.attrelid AND a.attnum = k.attnum
	UNION
	SELECT f.root, f.attname, f.sequence, f.partitioned, i.inhrelid, f.depth + 1
	FROM family f
	JOIN pg_inherits i ON i.inhparent = f.member
	JOIN pg_class c ON c.oid = i.inhrelid AND c.relkind IN ('r', 'p', 'f')
	JOIN pg_attribute a ON a.attrelid = i.inhrelid AND a.attname = f.attname
	LEFT JOIN counting k ON k.attrelid = a.attrelid AND k.attnum = a.attnum
	WHERE CASE WHEN k.attrelid IS NULL THEN f.partitioned ELSE k.sequence IS NULL OR k.sequence = f.sequence END
), inherited AS (
	SELECT root, attname, member, min(depth) AS depth FROM family WHERE depth > 0 GROUP BY root, attname, member
)
SELECT n.nspname, c.relname, a.attname, k.mechanism, k.expression, c.relkind = 'p',
	coalesce(sn.nspname, ''), coalesce(s.relname, ''),
	CASE WHEN q.seqincrement < 0 THEN q.seqmin ELSE q.seqmax END,
	coalesce(q.seqincrement, 0),
	coalesce(has_sequence_privilege(s.oid, 'SELECT') AND has_schema_privilege(s.relnamespace, 'USAGE'), false),
	coalesce(tn.nspname, ''), coalesce(t.relname, ''), coalesce(ta.attname, ''),
	coalesce(heirs.names, '[]'), heir.member IS NOT NULL
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
LEFT JOIN (
	SELECT i.root, i.attname, json_agg(json_build_object('schema', hn.nspname, 'name', h.relname) ORDER BY i.depth, hn.nspname, h.relname)::text AS names
	FROM inherited i JOIN pg_class h ON h.oid = i.member JOIN pg_namespace hn ON hn.oid = h.relnamespace
	GROUP BY i.root, i.attname
) AS heirs ON heirs.root = k.attrelid AND heirs.attname = a.attname
LEFT JOIN (SELECT DISTINCT member, attname FROM inherited) AS heir ON heir.member = k.attrelid AND heir.attname = a.attname
ORDER BY n.nspname, c.relname, a.attnum

-- name: primary keys
SELECT n.nspname, c.relname, a.attname
FROM pg_index x
JOIN pg_class c ON c.oid = x.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_'
CROSS JOIN LATERAL generate_series(0, x.indnkeyatts - 1) AS i
JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[i]
WHERE x.indisprimary
ORDER BY n.nspname, c.relname, i

-- name: foreign keys
-- Every column of every foreign key, in the order of the constraint. We leave out foreign
-- keys that partitions got from their table, which have a parent.
WITH links AS (
	SELECT f.oid, f.conname, f.conrelid, f.confrelid, f.conkey, f.confkey, i AS position,
		CASE f.confupdtype WHEN 'a' THEN 'NO ACTION' WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' ELSE 'SET DEFAULT' END AS on_update,
		CASE f.confdeltype WHEN 'a' THEN 'NO ACTION' WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' ELSE 'SET DEFAULT' END AS on_delete,
		CASE f.confmatchtype WHEN 'f' THEN ' MATCH FULL' ELSE '' END AS match,
		CASE WHEN f.condeferrable THEN ' DEFERRABLE' ELSE '' END || CASE WHEN f.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END AS detail, f.convalidated
	FROM pg_constraint f, generate_subscripts(f.conkey, 1) AS i
	WHERE f.contype = 'f' AND f.conparentid = 0
)
SELECT l.oid::text, l.conname,
	cn.nspname, c.relname, ca.attname, pn.nspname, p.relname, pa.attname,
	l.on_update, l.on_delete, l.match, l.detail, l.convalidated
FROM links l
JOIN pg_class c ON c.oid = l.conrelid
JOIN pg_namespace cn ON cn.oid = c.relnamespace
JOIN pg_attribute ca ON ca.attrelid = l.conrelid AND ca.attnum = l.conkey[l.position]
JOIN pg_class p ON p.oid = l.confrelid
JOIN pg_namespace pn ON pn.oid = p.relnamespace
JOIN pg_attribute pa ON pa.attrelid = l.confrelid AND pa.attnum = l.confkey[l.position]
ORDER BY cn.nspname, c.relname, l.conname, l.oid, l.position

-- name: triggers
SELECT n.nspname, c.relname, g.tgname,
	CASE WHEN g.tgtype & 2 <> 0 THEN 'BEFORE' WHEN g.tgtype & 64 <> 0 THEN 'INSTEAD OF' ELSE 'AFTER' END || ' ' ||
	concat_ws(' OR ',
		CASE WHEN g.tgtype & 4 <> 0 THEN 'INSERT' END,
		CASE WHEN g.tgtype & 16 <> 0 THEN 'UPDATE' END,
		CASE WHEN g.tgtype & 8 <> 0 THEN 'DELETE' END,
		CASE WHEN g.tgtype & 32 <> 0 THEN 'TRUNCATE' END)
FROM pg_trigger g
JOIN pg_class c ON c.oid = g.tgrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE NOT g.tgisinternal
ORDER BY n.nspname, c.relname, g.tgname

-- name: columns
-- A type is that below all domains, which are few.
WITH RECURSIVE below(domain, type, typmod) AS (
	SELECT oid, typbasetype, typtypmod FROM pg_type WHERE typtype = 'd'
	UNION ALL SELECT b.domain, t.typbasetype, t.typtypmod FROM below b JOIN pg_type t ON t.oid = b.type AND t.typtype = 'd'
), base AS (
	SELECT b.domain, b.type, b.typmod FROM below b JOIN pg_type t ON t.oid = b.type AND t.typtype <> 'd'
)
SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
	format_type(coalesce(b.type, a.atttypid), CASE WHEN b.domain IS NULL THEN a.atttypmod ELSE b.typmod END), '', '',
	a.attgenerated <> '', CASE WHEN c.relkind = 'f' THEN 'foreign' WHEN c.relispartition THEN 'partition' WHEN a.attinhcount > 0 THEN 'inherited' ELSE '' END,
	coalesce(rn.nspname, ''), coalesce(r.relname, '')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN base b ON b.domain = a.atttypid
LEFT JOIN pg_class r ON r.oid = CASE WHEN c.relispartition THEN pg_partition_root(c.oid) END
LEFT JOIN pg_namespace rn ON rn.oid = r.relnamespace
WHERE c.relkind IN ('r', 'p', 'f')
ORDER BY n.nspname, c.relname, a.attnum

-- name: table
SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
	(WITH RECURSIVE base(type, typmod) AS (
			SELECT a.atttypid, a.atttypmod
			UNION ALL SELECT t.typbasetype, t.typtypmod FROM base JOIN pg_type t ON t.oid = base.type AND t.typtype = 'd')
		SELECT format_type(type, typmod) FROM base JOIN pg_type t ON t.oid = base.type AND t.typtype <> 'd')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.oid = to_regclass(CASE WHEN $1::text = '' THEN format('%I', $2::text) ELSE format('%I.%I', $1::text, $2::text) END)
AND c.relkind IN ('r', 'p', 'f', 'v', 'm')
ORDER BY a.attnum
