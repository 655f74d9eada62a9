-- This is one statement with a lock, because CREATE TABLE IF NOT EXISTS fails if two
-- sessions create the same table at the same time. The number of the lock is "snowkey"
-- in ASCII.
DO $$
BEGIN
	PERFORM pg_advisory_xact_lock(x'736e6f776b6579'::bigint);

	CREATE TABLE IF NOT EXISTS {ns} (
		namespace   text COLLATE "C" NOT NULL,
		position    bigint NOT NULL,
		layout      text COLLATE "C" NOT NULL,
		fingerprint text COLLATE "C" NOT NULL,
		fence       bigint NOT NULL,
		protocol    bigint NOT NULL DEFAULT {protocol}, -- of Snowkey, not of the application
		PRIMARY KEY (namespace, position),
		UNIQUE (namespace, layout)
	);

	CREATE TABLE IF NOT EXISTS {lease} (
		namespace  text COLLATE "C" NOT NULL,
		layout     text COLLATE "C" NOT NULL,
		worker     bigint NOT NULL,
		token      text COLLATE "C" NOT NULL, -- '-' if the row is free
		revision   bigint NOT NULL,
		bound      bigint NOT NULL,
		expires_at bigint NOT NULL, -- microseconds since 1970; 0 if the row is free
		label      text COLLATE "C" NOT NULL,
		protocol   bigint NOT NULL DEFAULT {protocol},
		PRIMARY KEY (namespace, layout, worker)
	) WITH (fillfactor = 50);

	-- Processes that wait for a worker number read the row that becomes free next.
	CREATE INDEX IF NOT EXISTS {index} ON {lease} (namespace, layout, expires_at);
END
$$
