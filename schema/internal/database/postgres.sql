-- name: uses
-- Everything that uses a column and so keeps us from altering its type. Views are listed by
-- name, and other objects with the description that Postgres gives. This includes views
-- that use a column of another view.
SELECT DISTINCT tn.nspname, t.relname, a.attname,
	coalesce(vn.nspname, ''), coalesce(v.relname, ''),
	CASE WHEN v.oid IS NULL THEN pg_describe_object(d.classid, d.objid, d.objsubid) ELSE '' END
FROM pg_depend d
JOIN pg_class t ON t.oid = d.refobjid
JOIN pg_namespace tn ON tn.oid = t.relnamespace AND tn.nspname !~ '^pg_' AND tn.nspname <> 'information_schema'
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
LEFT JOIN pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
LEFT JOIN pg_namespace vn ON vn.oid = v.relnamespace
LEFT JOIN pg_trigger g ON d.classid = 'pg_trigger'::regclass AND g.oid = d.objid
LEFT JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
WHERE d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0
AND (d.classid IN ('pg_policy'::regclass, 'pg_proc'::regclass, 'pg_publication_rel'::regclass)
	OR r.oid IS NOT NULL AND t.oid IS DISTINCT FROM v.oid
	OR NOT g.tgisinternal
	OR f.adrelid = t.oid AND f.adnum <> a.attnum
	OR d.classid = 'pg_class'::regclass AND d.objid = t.oid AND d.objsubid > 0) -- a generated column of Postgres 14
ORDER BY 1, 2, 3, 4, 5, 6

-- name: routines
SELECT CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END, p.oid::regprocedure::text, pg_get_functiondef(p.oid), ''
FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
JOIN pg_language l ON l.oid = p.prolang AND l.lanname NOT IN ('c', 'internal')
WHERE p.prokind IN ('f', 'p') AND p.proname NOT LIKE 'snowkey%' AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
ORDER BY 2
