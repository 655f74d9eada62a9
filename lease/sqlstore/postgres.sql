-- One statement, because a session that creates a table while another creates
-- the same fails in spite of IF NOT EXISTS; hence the lock, whose number spells
-- snowkey. To make the tables yourself, take what is between its lines.
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

	-- Which row is free next? Those who wait for one ask often.
	CREATE INDEX IF NOT EXISTS {index} ON {lease} (namespace, layout, expires_at);
END
$$
