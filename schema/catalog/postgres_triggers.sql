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
