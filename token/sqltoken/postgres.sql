-- This is one statement with a lock, because CREATE TABLE IF NOT EXISTS fails if two
-- sessions create the same table at the same time. The number of the lock is "snowkey"
-- in ASCII. To create the table yourself, run the statements between BEGIN and END.
DO $$
BEGIN
	PERFORM pg_advisory_xact_lock(x'736e6f776b6579'::bigint);

	CREATE TABLE IF NOT EXISTS {table} (
		id      bigint NOT NULL PRIMARY KEY,
		user_id bigint NOT NULL,
		hash    text COLLATE "C" NOT NULL, -- SHA-256 of the token, in hex
		seen    bigint NOT NULL, -- ms since 1970; not indexed, so that HOT updates are possible
		expires bigint NOT NULL, -- ms since 1970
		protocol bigint NOT NULL DEFAULT {protocol}, -- of Snowkey, not of the application
		UNIQUE (user_id, id),
		UNIQUE (expires, id) -- for Cleanup
	) WITH (fillfactor = 90);
END
$$
