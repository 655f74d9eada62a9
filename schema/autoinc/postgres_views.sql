-- Every view, with everything that is lost when the view is dropped. The last column names
-- what a plan cannot create again.
SELECT n.nspname, v.relname, pg_get_viewdef(v.oid), coalesce(array_to_string(v.reloptions, ', '), ''), pg_get_userbyid(v.relowner),
	coalesce(obj_description(v.oid, 'pg_class'), ''),
	coalesce((
		SELECT json_agg(json_build_array(a.privilege_type, coalesce(r.rolname, ''), CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) ORDER BY a.privilege_type, r.rolname)
		FROM aclexplode(v.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
	)::text, '[]'),
	coalesce((
		SELECT json_agg(json_build_array(coalesce(r.rolname, '')))
		FROM (SELECT DISTINCT a.grantee FROM pg_default_acl d CROSS JOIN LATERAL aclexplode(d.defaclacl) a
			WHERE d.defaclobjtype = 'r' AND a.grantee <> v.relowner) AS granted
		LEFT JOIN pg_roles r ON r.oid = granted.grantee
	)::text, '[]'),
	coalesce((
		SELECT json_agg(json_build_array(a.attname, col_description(v.oid, a.attnum)) ORDER BY a.attnum)
		FROM pg_attribute a WHERE a.attrelid = v.oid AND a.attnum > 0 AND col_description(v.oid, a.attnum) IS NOT NULL
	)::text, '[]'),
	v.relkind = 'm', v.relispopulated,
	coalesce((
		SELECT json_agg(json_build_array(pg_get_indexdef(x.indexrelid),
			CASE WHEN x.indisclustered THEN format('ALTER MATERIALIZED VIEW %I.%I CLUSTER ON %I', n.nspname, v.relname, i.relname) END,
			'COMMENT ON INDEX ' || x.indexrelid::regclass || ' IS ' || quote_literal(obj_description(i.oid, 'pg_class'))) ORDER BY i.relname)
		FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = v.oid
	)::text, '[]'),
	concat_ws(', ',
		CASE WHEN v.reltablespace <> 0 THEN 'its tablespace' END,
		(SELECT 'the trigger ' || quote_ident(min(tgname)) FROM pg_trigger WHERE tgrelid = v.oid HAVING count(*) > 0),
		(SELECT 'the rule ' || quote_ident(min(rulename)) FROM pg_rewrite WHERE ev_class = v.oid AND rulename <> '_RETURN' HAVING count(*) > 0),
		(SELECT 'the default of ' || quote_ident(min(a.attname)) FROM pg_attribute a WHERE a.attrelid = v.oid AND a.atthasdef HAVING count(*) > 0),
		(SELECT 'privileges on ' || quote_ident(min(a.attname)) FROM pg_attribute a WHERE a.attrelid = v.oid AND a.attacl IS NOT NULL HAVING count(*) > 0),
		(SELECT 'its security label' FROM pg_seclabel l WHERE l.classoid = 'pg_class'::regclass AND l.objoid = v.oid HAVING count(*) > 0),
		(SELECT 'what uses it: ' || min(pg_describe_object(d.classid, d.objid, d.objsubid))
			FROM pg_depend d LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
			WHERE (d.refclassid = 'pg_class'::regclass AND d.refobjid = v.oid
				OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (SELECT t.oid FROM pg_type t WHERE t.typrelid = v.oid
					UNION SELECT t.typarray FROM pg_type t WHERE t.typrelid = v.oid))
			AND d.deptype <> 'i' AND w.oid IS NULL AND d.classid <> 'pg_type'::regclass
			AND NOT (d.classid = 'pg_class'::regclass AND EXISTS (SELECT FROM pg_index x WHERE x.indexrelid = d.objid AND x.indrelid = v.oid))
			AND NOT (d.classid = 'pg_trigger'::regclass OR d.classid = 'pg_attrdef'::regclass)
			HAVING count(*) > 0))
FROM pg_class v
JOIN pg_namespace n ON n.oid = v.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
WHERE v.relkind IN ('v', 'm')
ORDER BY n.nspname, v.relname
