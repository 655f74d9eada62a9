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
