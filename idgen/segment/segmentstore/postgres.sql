-- One statement, because a session that creates a table while another creates
-- the same fails in spite of IF NOT EXISTS; hence the lock, whose number spells
-- snowkey. To make the table yourself, take what is between its lines.
DO $$
BEGIN
	PERFORM pg_advisory_xact_lock(x'736e6f776b6579'::bigint);

	CREATE TABLE IF NOT EXISTS {table} (
		name  text COLLATE "C" NOT NULL PRIMARY KEY,
		start bigint NOT NULL,
		bound bigint NOT NULL,
		protocol bigint NOT NULL DEFAULT {protocol} -- of Snowkey, not of the application
	) WITH (fillfactor = 50); -- a fetch writes its row anew in the same page
END
$$
