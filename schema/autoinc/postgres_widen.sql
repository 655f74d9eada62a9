-- Everything that keeps us from altering the type of a column, except for objects that
-- depend on the column.
WITH RECURSIVE rows AS ( -- the types that contain rows of a table
	SELECT c.oid AS relation, c.reltype AS type
	FROM pg_class c
	JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
	WHERE c.relkind IN ('r', 'p', 'f') AND c.reltype <> 0
	UNION
	SELECT r.relation, t.oid FROM rows r JOIN pg_type t ON t.typelem = r.type AND t.typcategory = 'A' OR t.typbasetype = r.type
		OR EXISTS (SELECT FROM pg_class x JOIN pg_attribute a ON a.attrelid = x.oid AND a.attnum > 0 WHERE x.relkind = 'c' AND x.reltype = t.oid AND a.atttypid = r.type)
), problems AS (
	SELECT r.relation, NULL::name AS attname, 'the column ' || quote_ident(u.attname) || ' of ' || u.attrelid::regclass || ' has rows of its table' AS problem
	FROM rows r
	JOIN pg_attribute u ON u.atttypid = r.type AND u.attnum > 0 AND NOT u.attisdropped
	JOIN pg_class c ON c.oid = u.attrelid AND c.relkind IN ('r', 'p', 'f', 'm')
	UNION ALL
	SELECT top.relid, a.attname, 'the table ' || p.partrelid::regclass || ' is partitioned by it'
	FROM pg_partitioned_table p
	JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum > 0 AND NOT a.attisdropped
		AND (a.attnum = ANY (p.partattrs::int2[]) OR 0 = ANY (p.partattrs::int2[]) AND pg_get_partkeydef(p.partrelid) ~ ('\m' || a.attname || '\M'))
	CROSS JOIN LATERAL (SELECT p.partrelid AS relid UNION SELECT pg_partition_ancestors(p.partrelid)) AS top
	UNION ALL
	SELECT d.refobjid, a.attname, 'the view ' || v.oid::regclass || ' uses it and calls ' || f.oid::regprocedure || ', and there is no ' || quote_ident(f.proname) || ' for bigint'
	FROM pg_depend d
	JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
	JOIN pg_class v ON v.oid = w.ev_class AND v.relkind = 'v'
	JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
	JOIN pg_depend c ON c.classid = d.classid AND c.objid = d.objid AND c.refclassid = 'pg_proc'::regclass
	JOIN pg_proc f ON f.oid = c.refobjid AND f.proargtypes::oid[] && ARRAY['int2'::regtype::oid, 'int4'::regtype::oid]
	WHERE d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0 AND d.refobjid <> v.oid
	AND NOT EXISTS (SELECT FROM pg_proc o WHERE o.proname = f.proname AND o.pronamespace = f.pronamespace AND o.pronargs = f.pronargs AND 'int8'::regtype = ANY (o.proargtypes::oid[]))
	UNION ALL
	SELECT x.indrelid, a.attname, 'the index ' || x.indexrelid::regclass || ' uses ' || quote_ident(o.opcname) || ', which is not for bigint'
	FROM pg_index x
	CROSS JOIN LATERAL generate_series(0, x.indnkeyatts - 1) AS i
	JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[i] AND a.attnum > 0
	JOIN pg_opclass o ON o.oid = x.indclass[i] AND NOT o.opcdefault AND o.opcintype IN ('int2'::regtype, 'int4'::regtype)
	UNION ALL
	SELECT c.oid, NULL, 'its table has FORCE ROW LEVEL SECURITY, which hides rows from ' || current_user
	FROM pg_class c
	WHERE c.relforcerowsecurity AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = current_user AND (r.rolsuper OR r.rolbypassrls))
)
SELECT DISTINCT n.nspname, c.relname, a.attname, p.problem
FROM problems p
JOIN pg_class c ON c.oid = p.relation
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attname = coalesce(p.attname, a.attname)
ORDER BY 1, 2, 3, 4
