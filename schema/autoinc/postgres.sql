-- name: columns
SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
	format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE a.atttypid END, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END),
	NOT (a.attnotnull OR t.typnotnull), a.atthasdef OR a.attidentity <> '' OR t.typdefault IS NOT NULL, a.attgenerated <> '', false,
	coalesce(pg_get_expr(f.adbin, f.adrelid), ''), a.attidentity::text,
	-- From Postgres 18 on, NOT NULL constraints have names.
	coalesce((SELECT k.conname FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum]), ''), a.attinhcount > 0
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped
ORDER BY n.nspname, c.relname, a.attnum

-- name: obstacles
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

-- name: with heirs
SELECT DISTINCT n.nspname, c.relname FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhparent AND c.relkind <> 'p' JOIN pg_namespace n ON n.oid = c.relnamespace

-- name: obstacles online
-- Everything else that would be lost when a column is dropped, or that keeps a new column
-- from replacing it.
SELECT n.nspname, c.relname, a.attname, 'the constraint ' || quote_ident(k.conname) || ' checks it'
FROM pg_constraint k
JOIN pg_class c ON c.oid = k.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
WHERE k.contype = 'x'
UNION ALL
SELECT n.nspname, c.relname, a.attname, 'the foreign key ' || quote_ident(k.conname) || ' sets some of its columns only'
FROM pg_constraint k
JOIN pg_class c ON c.oid = k.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
WHERE k.contype = 'f' AND to_jsonb(k) ->> 'confdelsetcols' IS NOT NULL
UNION ALL
SELECT n.nspname, c.relname, a.attname, 'its table inherits from another, or has heirs'
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE a.attnum > 0 AND EXISTS (SELECT FROM pg_inherits h JOIN pg_class u ON u.oid = h.inhparent WHERE c.oid IN (h.inhrelid, h.inhparent) AND u.relkind <> 'p')
UNION ALL
SELECT n.nspname, c.relname, a.attname, 'its partition ' || t.relid::regclass || ' is a foreign table'
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'p' JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL pg_partition_tree(c.oid) AS t JOIN pg_class f ON f.oid = t.relid AND f.relkind = 'f'
WHERE a.attnum > 0
UNION ALL
SELECT n.nspname, c.relname, a.attname, 'the partition ' || h.inhrelid::regclass || ' takes no nulls in it, but its table does'
FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhparent AND c.relkind = 'p' JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 JOIN pg_attribute b ON b.attrelid = h.inhrelid AND b.attname = a.attname
WHERE b.attnotnull AND NOT a.attnotnull
UNION ALL
SELECT n.nspname, c.relname, a.attname, 'the trigger ' || quote_ident(g.tgname) || ' would fire for every row that is filled'
FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE NOT g.tgisinternal AND g.tgtype & 16 <> 0 AND g.tgattr = '' AND (g.tgenabled IN ('A', 'R') OR g.tgenabled = 'O' AND NOT $1)
UNION ALL
SELECT n.nspname, c.relname, a.attname, 'a column ' || quote_ident(a.attname) || ' is there, as another plan makes one'
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE a.attname LIKE 'snowkey\_new\_%' AND c.relkind IN ('r', 'p')
UNION ALL
SELECT n.nspname, c.relname, a.attname, 'the publication ' || quote_ident(p.pubname) || ' sends its table to subscribers, which do not have the new column'
FROM pg_publication_tables p JOIN pg_namespace n ON n.nspname = p.schemaname JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
UNION ALL
SELECT n.nspname, c.relname, a.attname, 'a subscription fills its table, and fires no trigger'
FROM pg_subscription_rel s JOIN pg_class c ON c.oid = s.srrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0

-- name: parts
-- Every index and check, and what else is lost with a column: statistics, privileges and
-- comments. Each has the columns that it uses, also in expressions, and the statements that make
-- it again, each after its description. Triggers have no columns here; they can be disabled.
SELECT n.nspname, c.relname, p.name, p.kind, p.constrained, p.is_unique,
	coalesce((SELECT json_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attnum = ANY (p.used))::text, '[]'),
	p.detail, p.dropping, p.again::text, p.parsed, p.parent IS NOT NULL, p.problems, p.definition
FROM (
	SELECT 1 AS place, x.indrelid AS relation, i.relname AS name, coalesce(k.contype::text, 'i') AS kind, coalesce(k.conname, '') AS constrained, CASE WHEN x.indisunique THEN 'UNIQUE ' ELSE '' END AS is_unique,
		x.indkey::int2[] || ARRAY(SELECT d.refobjsubid::int2 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = x.indrelid) AS used,
		CASE WHEN k.condeferrable THEN ' DEFERRABLE' ELSE '' END || CASE WHEN k.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END AS detail,
		coalesce('ALTER TABLE ' || x.indrelid::regclass || ' DROP CONSTRAINT ' || quote_ident(k.conname), 'DROP INDEX ' || i.oid::regclass) AS dropping,
		(SELECT json_agg(s) FROM (VALUES
			('add the constraint again', 'ALTER TABLE ' || x.indrelid::regclass || ' ADD CONSTRAINT ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid)),
			-- Without ONLY, CREATE INDEX attaches existing indexes of the partitions to the new index.
			('make the index again', CASE WHEN k.oid IS NULL THEN replace(pg_get_indexdef(i.oid), ' ON ONLY ' || x.indrelid::regclass || ' USING ', ' ON ' || x.indrelid::regclass || ' USING ') END),
			('comment on it', 'COMMENT ON INDEX ' || i.oid::regclass || ' IS ' || quote_literal(obj_description(i.oid, 'pg_class'))),
			('comment on its constraint', 'COMMENT ON CONSTRAINT ' || quote_ident(k.conname) || ' ON ' || x.indrelid::regclass || ' IS ' || quote_literal(obj_description(k.oid, 'pg_constraint'))),
			('let CLUSTER order the table by it again', CASE WHEN x.indisclustered THEN format('ALTER TABLE %s CLUSTER ON %I', x.indrelid::regclass, i.relname) END)
		) AS s (text, sql) WHERE s.sql IS NOT NULL) AS again,
		x.indexprs IS NOT NULL OR x.indpred IS NOT NULL AS parsed, hi.relname AS parent,
		-- What keeps us from making another index like it.
		concat_ws(', ',
			CASE WHEN k.contype = 'x' THEN 'it excludes rows' END,
			CASE WHEN NOT x.indisvalid THEN 'it is not valid' END,
			CASE WHEN x.indisreplident THEN 'it is the replica identity' END,
			CASE WHEN i.reltablespace <> 0 THEN 'it is in a tablespace of its own' END) AS problems,
		substring(pg_get_indexdef(i.oid) FROM ' USING (.*)$') AS definition
	FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
	LEFT JOIN pg_constraint k ON k.conindid = i.oid AND k.conrelid = x.indrelid AND k.contype IN ('p', 'u', 'x')
	LEFT JOIN pg_inherits h ON h.inhrelid = i.oid
	LEFT JOIN pg_class hi ON hi.oid = h.inhparent
	UNION ALL
	SELECT 2, k.conrelid, k.conname, 'c', k.conname, '', k.conkey, CASE WHEN k.convalidated THEN '' ELSE ' NOT VALID' END,
		format('ALTER TABLE %s DROP CONSTRAINT %I', k.conrelid::regclass, k.conname),
		(SELECT json_agg(s) FROM (VALUES
			('add the check again', format('ALTER TABLE %s ADD CONSTRAINT %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid))),
			('comment on it', format('COMMENT ON CONSTRAINT %I ON %s IS ', k.conname, k.conrelid::regclass) || quote_literal(obj_description(k.oid, 'pg_constraint')))
		) AS s (text, sql) WHERE s.sql IS NOT NULL),
		true, NULL, '', regexp_replace(pg_get_constraintdef(k.oid), ' NOT VALID$', '')
	FROM pg_constraint k WHERE k.contype = 'c' AND k.conrelid <> 0 AND k.coninhcount = 0
	UNION ALL
	-- The server lists the columns of statistics by their position in the table, which changes
	-- when a wide column replaces a narrow one. We sort them by name instead, so that the
	-- definition stays the same.
	SELECT 3, s.stxrelid, '', 'o', '', '',
		s.stxkeys::int2[] || ARRAY(SELECT d.refobjsubid::int2 FROM pg_depend d WHERE d.classid = 'pg_statistic_ext'::regclass AND d.objid = s.oid AND d.refobjid = s.stxrelid), '', '',
		json_build_array(json_build_object('text', 'make the statistics again; ANALYZE fills them',
			'sql', coalesce(replace(pg_get_statisticsobjdef(s.oid), ' ON ' || k.by_place, ' ON ' || k.by_name), pg_get_statisticsobjdef(s.oid)))), false, NULL, '', ''
	FROM pg_statistic_ext s
	CROSS JOIN LATERAL (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum), string_agg(quote_ident(a.attname), ', ' ORDER BY a.attname)
		FROM pg_attribute a WHERE a.attrelid = s.stxrelid AND a.attnum = ANY (s.stxkeys::int2[])) k (by_place, by_name)
	UNION ALL
	SELECT 4, a.attrelid, '', 'o', '', '', ARRAY[a.attnum], '', '', json_build_array(s), false, NULL, '', ''
	FROM pg_attribute a CROSS JOIN LATERAL (
		SELECT 'grant what was granted on the old column', format('GRANT %s (%I) ON %s TO %s%s', p.privilege_type, a.attname, a.attrelid::regclass, coalesce(quote_ident(r.rolname), 'PUBLIC'), CASE WHEN p.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
		FROM aclexplode(a.attacl) AS p LEFT JOIN pg_roles r ON r.oid = p.grantee
		UNION ALL SELECT 'comment on it', format('COMMENT ON COLUMN %s.%I IS ', a.attrelid::regclass, a.attname) || quote_literal(col_description(a.attrelid, a.attnum))
		UNION ALL SELECT 'collect statistics as for the old column; ANALYZE does', format('ALTER TABLE ONLY %s ALTER COLUMN %I SET ', a.attrelid::regclass, a.attname) || o
		FROM (SELECT 'STATISTICS ' || a.attstattarget WHERE a.attstattarget >= 0
			-- An option whose name begins with pg_ is the server's own, such as pg_attver of 15.20.
			UNION ALL SELECT '(' || string_agg(o, ', ') || ')' FROM unnest(a.attoptions) AS o WHERE o !~ '^pg_') AS options (o)
	) AS s (text, sql)
	WHERE s.sql IS NOT NULL AND a.attnum > 0 AND NOT a.attisdropped
	UNION ALL
	SELECT 5, t.tgrelid, t.tgname, 't', '', '', NULL, '', format('ALTER TABLE ONLY %s DISABLE TRIGGER %I', t.tgrelid::regclass, t.tgname),
		json_build_array(json_build_object('text', 'enable its trigger again', 'sql', format('ALTER TABLE ONLY %s ENABLE %sTRIGGER %I', t.tgrelid::regclass, CASE t.tgenabled WHEN 'A' THEN 'ALWAYS ' WHEN 'R' THEN 'REPLICA ' ELSE '' END, t.tgname))), false, NULL, '', ''
	FROM pg_trigger t WHERE NOT t.tgisinternal AND t.tgenabled <> 'D'
) AS p
JOIN pg_class c ON c.oid = p.relation AND c.relkind IN ('r', 'p')
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
-- If a partition has several equal indexes, Postgres attaches the first one to the first
-- index of the table, so the order matters.
ORDER BY n.nspname, c.relname, p.place, p.parent, p.name, p.again::text

-- name: sequences
-- Every sequence, with the options and the statements that make an identity have the same one.
SELECT n.nspname, c.relname, q.seqstart, q.seqincrement, q.seqmax, format_type(q.seqtypid, NULL),
	format('SEQUENCE NAME %s INCREMENT BY %s MINVALUE %s START WITH %s CACHE %s', c.oid::regclass, q.seqincrement, q.seqmin, q.seqstart, q.seqcache)
		|| CASE WHEN q.seqmax NOT IN (32767, 2147483647) THEN ' MAXVALUE ' || q.seqmax ELSE '' END || CASE WHEN q.seqcycle THEN ' CYCLE' ELSE '' END,
	coalesce((SELECT json_agg(s.sql ORDER BY s.sql DESC) FROM (
		SELECT format('GRANT %s ON SEQUENCE %s TO %s%s', a.privilege_type, c.oid::regclass, coalesce(quote_ident(r.rolname), 'PUBLIC'), CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
		FROM aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee WHERE a.grantee <> c.relowner
		UNION ALL SELECT format('COMMENT ON SEQUENCE %s IS %L', c.oid::regclass, d.description) FROM pg_description d WHERE d.objoid = c.oid AND d.classoid = 'pg_class'::regclass AND d.objsubid = 0
	) AS s (sql))::text, '[]')
FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace

-- name: partitions
SELECT n.nspname, c.relname, c.relkind = 'p', an.nspname, a.relname, a.oid = pg_partition_root(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL pg_partition_ancestors(c.oid) AS up (oid)
JOIN pg_class a ON a.oid = up.oid JOIN pg_namespace an ON an.oid = a.relnamespace
WHERE c.relkind = 'p' OR c.relispartition AND c.relkind = 'r'
ORDER BY (SELECT count(*) FROM pg_partition_ancestors(c.oid)) DESC, 1, 2

-- name: copies
-- Every foreign key, along with its copies on the partitions of its child. The server also
-- adds copies for the partitions of the parent, which we leave out.
WITH RECURSIVE copies AS (
	SELECT f.oid, f.conrelid AS child, f.conname AS name, f.conrelid, f.confrelid, f.conname, f.convalidated
	FROM pg_constraint f WHERE f.contype = 'f' AND f.conparentid = 0
	UNION ALL
	SELECT f.oid, c.child, c.name, f.conrelid, f.confrelid, f.conname, f.convalidated
	FROM copies c JOIN pg_constraint f ON f.conparentid = c.oid AND f.confrelid = c.confrelid
)
SELECT cn.nspname, c.relname, k.name, n.nspname, t.relname, k.conname, k.convalidated
FROM copies k
JOIN pg_class c ON c.oid = k.child
JOIN pg_namespace cn ON cn.oid = c.relnamespace
JOIN pg_class t ON t.oid = k.conrelid
JOIN pg_namespace n ON n.oid = t.relnamespace
ORDER BY (SELECT count(*) FROM pg_partition_ancestors(t.oid)) DESC, 4, 5

-- name: views
-- Every view, with the statements that create it with everything that is lost when it is
-- dropped, each after its description. The last column names what a plan cannot create again.
-- A view comes after those that it uses.
WITH RECURSIVE uses AS (
	SELECT DISTINCT w.ev_class AS view, d.refobjid AS used FROM pg_depend d JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
	WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid <> w.ev_class
), levels AS ( -- with a limit, because their rules may use each other
	SELECT oid AS view, 0 AS level FROM pg_class WHERE relkind IN ('v', 'm')
	UNION SELECT u.view, l.level + 1 FROM levels l JOIN uses u ON u.used = l.view WHERE l.level < 50
)
SELECT n.nspname, v.relname, pg_get_userbyid(v.relowner),
	(SELECT json_agg(json_build_object('text', p.text, 'sql', p.sql, 'locks', 'the view',
		'undo', CASE WHEN p.place = 1 THEN json_build_array(format('DROP %s %s', k.kind, v.oid::regclass)) END,
		'rewrites', CASE WHEN p.place = 1 AND v.relkind = 'm' THEN 'computes all of its rows' END) ORDER BY p.place, p.sql) FROM (
		SELECT 1, 'create the view ' || v.oid::regclass || ' again', 'CREATE ' || k.kind || ' ' || v.oid::regclass || coalesce(' WITH (' || array_to_string(v.reloptions, ', ') || ')', '')
			|| E' AS\n' || rtrim(pg_get_viewdef(v.oid), ';') || CASE WHEN v.relispopulated THEN '' ELSE ' WITH NO DATA' END
		UNION ALL SELECT 2, 'create its index again', pg_get_indexdef(x.indexrelid) FROM pg_index x WHERE x.indrelid = v.oid
		UNION ALL SELECT 3, 'let CLUSTER order it by its index again', format('ALTER MATERIALIZED VIEW %s CLUSTER ON %I', v.oid::regclass, i.relname)
			FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = v.oid AND x.indisclustered
		UNION ALL SELECT 4, 'create its trigger again', pg_get_triggerdef(t.oid) FROM pg_trigger t WHERE t.tgrelid = v.oid
		UNION ALL SELECT 4, 'create its rule again', rtrim(pg_get_ruledef(r.oid), ';') FROM pg_rewrite r WHERE r.ev_class = v.oid AND r.rulename <> '_RETURN'
		UNION ALL SELECT 4, 'give its column the default again', format('ALTER VIEW %s ALTER COLUMN %I SET DEFAULT %s', v.oid::regclass, a.attname, pg_get_expr(d.adbin, d.adrelid))
			FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE d.adrelid = v.oid
		UNION ALL SELECT 5, 'give it to its owner', format('ALTER %s %s OWNER TO %I', k.kind, v.oid::regclass, pg_get_userbyid(v.relowner))
		UNION ALL SELECT 6, 'revoke what every new view is granted', format('REVOKE ALL ON %s FROM %s', v.oid::regclass, coalesce(quote_ident(r.rolname), 'PUBLIC'))
			FROM (SELECT DISTINCT a.grantee FROM pg_default_acl d CROSS JOIN LATERAL aclexplode(d.defaclacl) a
				WHERE d.defaclobjtype = 'r' AND a.grantee <> v.relowner) AS granted
			LEFT JOIN pg_roles r ON r.oid = granted.grantee
		UNION ALL SELECT 7, 'grant what was granted', format('GRANT %s%s ON %s TO %s%s', a.privilege_type, g.place, v.oid::regclass, coalesce(quote_ident(r.rolname), 'PUBLIC'), CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
			FROM (SELECT '', v.relacl UNION ALL SELECT format(' (%I)', attname), attacl FROM pg_attribute WHERE attrelid = v.oid) AS g (place, acl)
			CROSS JOIN LATERAL aclexplode(g.acl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
		UNION ALL SELECT 8, 'comment on it', format('COMMENT ON %s %s IS %L', CASE WHEN d.objsubid > 0 THEN 'COLUMN' ELSE upper(o.type) END, o.identity, d.description)
			FROM (SELECT 'pg_class'::regclass, v.oid UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = v.oid
				UNION ALL SELECT 'pg_trigger'::regclass, oid FROM pg_trigger WHERE tgrelid = v.oid
				UNION ALL SELECT 'pg_rewrite'::regclass, oid FROM pg_rewrite WHERE ev_class = v.oid) AS c (class, id)
			JOIN pg_description d ON d.objoid = c.id AND d.classoid = c.class CROSS JOIN LATERAL pg_identify_object(c.class, c.id, d.objsubid) AS o
	) AS p (place, text, sql))::text,
	concat_ws(', ',
		CASE WHEN v.reltablespace <> 0 THEN 'its tablespace' END,
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
CROSS JOIN LATERAL (SELECT CASE v.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'VIEW' END) AS k (kind)
JOIN pg_namespace n ON n.oid = v.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
WHERE v.relkind IN ('v', 'm')
ORDER BY (SELECT max(l.level) FROM levels l WHERE l.view = v.oid), n.nspname, v.relname

-- name: unique
-- An index with expressions or with a condition has another column without a name.
SELECT n.nspname, c.relname, x.indexrelid::text, k.name
FROM pg_index x
JOIN pg_class c ON c.oid = x.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_'
CROSS JOIN LATERAL (
	SELECT a.attname::text, a.attnum FROM pg_attribute a
	WHERE a.attrelid = x.indrelid AND a.attnum > 0 AND (a.attnum = ANY ((x.indkey::int2[])[0:x.indnkeyatts - 1]) OR x.indexprs IS NOT NULL AND EXISTS (
		SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = x.indexrelid AND d.refobjid = x.indrelid AND d.refobjsubid = a.attnum))
	UNION ALL SELECT '', 0 WHERE x.indexprs IS NOT NULL OR x.indpred IS NOT NULL) AS k (name, number)
WHERE x.indisunique ORDER BY 1, 2, 3, k.number

-- name: conditions
SELECT COALESCE(n.nspname, ''), COALESCE(c.relname, ''), k.conname, pg_get_constraintdef(k.oid)
FROM pg_constraint k LEFT JOIN pg_class c ON c.oid = k.conrelid LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'c' ORDER BY 1, 2, 3

-- name: sizes
-- The number of rows is 0 if it isn't known, because a table was never analyzed.
SELECT n.nspname, c.relname,
	CASE WHEN bool_or(m.relpages = 0 AND pg_relation_size(m.oid) > 0) THEN 0
	ELSE coalesce(sum(m.reltuples / nullif(m.relpages, 0) * (pg_relation_size(m.oid) / current_setting('block_size')::bigint)), 0)::bigint END,
	sum(pg_table_size(m.oid))::bigint,
	(SELECT count(*) FROM pg_index x WHERE x.indrelid = c.oid), sum(pg_indexes_size(m.oid))::bigint
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_'
JOIN pg_class m ON m.oid = c.oid OR c.relkind = 'p' AND m.oid IN (SELECT relid FROM pg_partition_tree(c.oid))
WHERE c.relkind IN ('r', 'p') GROUP BY n.nspname, c.oid, c.relname

-- name: holder
-- The tables that we want to lock take the place of %s. Readers don't hinder a lock
-- against writers.
SELECT format('the process %%s of %%s, whose transaction is %%s s old: %%s', a.pid, a.usename, round(extract(epoch FROM clock_timestamp() - a.xact_start)), left(a.query, 200))
FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.granted AND l.pid <> pg_backend_pid() AND l.locktype = 'relation' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND l.relation IN (%s) AND (%t OR l.mode NOT IN ('AccessShareLock', 'RowShareLock')) AND clock_timestamp() - a.xact_start > '%d ms'::interval
ORDER BY a.xact_start LIMIT 1

-- name: ledger
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = {schema} AND c.relname = {name}

-- name: read only
SELECT pg_is_in_recovery()::int

-- name: lock
SELECT pg_try_advisory_lock(hashtextextended({lock}, 0))::int

-- name: unlock
SELECT pg_advisory_unlock(hashtextextended({lock}, 0))

-- name: locked by
SELECT format('%s of %s, connected since %s', a.pid, a.usename, date_trunc('second', a.backend_start)) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND l.classid::bigint << 32 | l.objid::bigint = hashtextextended({lock}, 0)

-- name: publications
SELECT schemaname, tablename, '', pubname FROM pg_publication_tables ORDER BY pubname

-- name: plain
-- Settings with which the server writes definitions in the same form every time. The joins of
-- our queries are written in a good order. Postgres takes longer to look for a better one than
-- to execute them.
search_path = ''
join_collapse_limit = '1'

-- name: wait
lock_timeout = '1s'

-- name: session
-- Each step sets its own lock_timeout, and all names in a plan are qualified.
lock_timeout = '0'
statement_timeout = '0'
search_path = ''
row_security = 'off'
standard_conforming_strings = 'on'

-- name: session that replaces keys
-- Whole tables are joined with their maps, and indexed again.
work_mem = greatest(pg_size_bytes(current_setting('work_mem')), 128::bigint << 20) / 1024 || 'kB'
maintenance_work_mem = greatest(pg_size_bytes(current_setting('maintenance_work_mem')), 512::bigint << 20) / 1024 || 'kB'
jit = 'off'

-- name: load
-- How far the slowest replica is behind, in milliseconds, and how many other sessions are busy.
SELECT (SELECT coalesce(max(extract(epoch FROM replay_lag)) * 1000, 0)::bigint FROM pg_stat_replication WHERE state <> 'backup'),
	(SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid())

-- name: begin
BEGIN

-- name: create ledger
CREATE TABLE {table} (plan text NOT NULL, step text NOT NULL, state text NOT NULL, detail text NOT NULL, at timestamp DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (plan, step))

-- name: upsert
ON CONFLICT (plan, step) DO UPDATE SET state = excluded.state, detail = excluded.detail, at = CURRENT_TIMESTAMP

-- name: row without values
DEFAULT VALUES

-- name: with keys
-- This lets an INSERT give the keys of an identity.
OVERRIDING SYSTEM VALUE

-- name: check deferred
SET CONSTRAINTS ALL IMMEDIATE

-- name: guard function
CREATE OR REPLACE FUNCTION {function} RETURNS trigger LANGUAGE plpgsql AS $snowkey$
BEGIN
	RAISE EXCEPTION 'snowkey: %.% is to be generated, and a key of this row was not', TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'check_violation';
END
$snowkey$

-- name: create map
CREATE TABLE {map} (old {type} NOT NULL, new bigint NOT NULL)

-- name: create order
CREATE TABLE {order} (n bigint PRIMARY KEY, old {type} NOT NULL, at bigint NOT NULL)

-- name: next in order
SELECT n, (SELECT max(n) FROM {order}), at FROM {order} WHERE n > $1 ORDER BY n LIMIT $2

-- name: assign
-- This adds a batch to a map. Its parameter is a JSON array of pairs of a row's number in the
-- order and its id.
INSERT INTO {map} (old, new) SELECT o.old, i.id FROM (SELECT (pair->>0)::bigint AS n, (pair->>1)::bigint AS id FROM json_array_elements($1::text::json) AS a (pair)) AS i JOIN {order} AS o ON o.n = i.n

-- name: microseconds
(extract(epoch FROM {column}) * 1000000)::bigint

-- name: spread
{from} + {span} / (count(*) OVER () + 1) * row_number() OVER (ORDER BY {key})

-- name: generated
-- Without a cast, the type of the result changes when the column is widened, which makes
-- statements fail that a driver such as pgx has prepared before.
SELECT {key}::bigint FROM {table} WHERE {key} >= {floor} LIMIT 1

-- name: check
-- Neither may the type of this result change.
SELECT row_to_json(found)::text AS row FROM ({query}) AS found

-- name: trial
-- The application's triggers may rely on its search_path.
BEGIN
SET LOCAL search_path TO DEFAULT

-- name: unfinished
-- The first step of another plan that was applied, in a phase that isn't complete.
SELECT p.plan, p.step FROM {table} AS p WHERE p.plan <> {plan} AND p.state IN ('started', 'done') AND p.step LIKE '%/%'
	AND NOT EXISTS (SELECT 1 FROM {table} AS q WHERE q.plan = p.plan AND q.step = split_part(p.step, '/', 1)) ORDER BY p.plan, p.step LIMIT 1

-- name: other engines
SELECT '', '' WHERE false
