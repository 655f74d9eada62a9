DO $$
BEGIN
	PERFORM pg_advisory_xact_lock(x'736e6f776b6579'::bigint);
	CREATE TABLE IF NOT EXISTS snowkey_lease_ns (
		namespace   text COLLATE "C" NOT NULL,
		position    bigint NOT NULL,
		layout      text COLLATE "C" NOT NULL,
		fingerprint text COLLATE "C" NOT NULL,
		fence       bigint NOT NULL,
		protocol    bigint NOT NULL DEFAULT 2,
		PRIMARY KEY (namespace, position),
		UNIQUE (namespace, layout)
	);
	CREATE TABLE IF NOT EXISTS snowkey_lease (
		namespace  text COLLATE "C" NOT NULL,
		layout     text COLLATE "C" NOT NULL,
		worker     bigint NOT NULL,
		token      text COLLATE "C" NOT NULL,
		revision   bigint NOT NULL,
		bound      bigint NOT NULL,
		expires_at bigint NOT NULL,
		label      text COLLATE "C" NOT NULL,
		protocol   bigint NOT NULL DEFAULT 2,
		PRIMARY KEY (namespace, layout, worker)
	) WITH (fillfactor = 50);
	
	CREATE INDEX IF NOT EXISTS snowkey_lease_expires ON snowkey_lease (namespace, layout, expires_at);
END
$$
