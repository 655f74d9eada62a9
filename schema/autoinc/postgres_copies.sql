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
