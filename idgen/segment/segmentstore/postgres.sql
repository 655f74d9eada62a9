-- This is one statement with a lock, because CREATE TABLE IF NOT EXISTS fails if two
-- sessions create the same table at the same time. The number of the lock is "snowkey"
-- in ASCII. To create the table yourself, run the statements between BEGIN and END.
DO $$
BEGIN
	PERFORM pg_advisory_xact_lock(x'736e6f776b6579'::bigint);

	CREATE TABLE IF NOT EXISTS {table} (
		name  text COLLATE "C" NOT NULL PRIMARY KEY,
		start bigint NOT NULL,
		bound bigint NOT NULL,
		protocol bigint NOT NULL DEFAULT {protocol} -- of Snowkey, not of the application
	) WITH (fillfactor = 50); -- so that a fetch can write the new version of its row to the same page
END
$$
