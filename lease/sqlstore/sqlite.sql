CREATE TABLE IF NOT EXISTS {ns} (
	namespace   TEXT NOT NULL,
	position    INTEGER NOT NULL,
	layout      TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	fence       INTEGER NOT NULL,
	protocol    INTEGER NOT NULL DEFAULT {protocol}, -- of Snowkey, not of the application
	PRIMARY KEY (namespace, position),
	UNIQUE (namespace, layout)
);

CREATE TABLE IF NOT EXISTS {lease} (
	namespace  TEXT NOT NULL,
	layout     TEXT NOT NULL,
	worker     INTEGER NOT NULL,
	token      TEXT NOT NULL, -- '-' if the row is free
	revision   INTEGER NOT NULL,
	bound      INTEGER NOT NULL,
	expires_at INTEGER NOT NULL, -- microseconds since 1970; 0 if the row is free
	label      TEXT NOT NULL,
	protocol   INTEGER NOT NULL DEFAULT {protocol},
	PRIMARY KEY (namespace, layout, worker)
);

CREATE INDEX IF NOT EXISTS {index} ON {lease table} (namespace, layout, expires_at)
