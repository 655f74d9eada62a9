CREATE TABLE IF NOT EXISTS snowkey_lease_ns (
	namespace   TEXT NOT NULL,
	position    INTEGER NOT NULL,
	layout      TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	fence       INTEGER NOT NULL,
	protocol    INTEGER NOT NULL DEFAULT 2,
	PRIMARY KEY (namespace, position),
	UNIQUE (namespace, layout)
);
CREATE TABLE IF NOT EXISTS snowkey_lease (
	namespace  TEXT NOT NULL,
	layout     TEXT NOT NULL,
	worker     INTEGER NOT NULL,
	token      TEXT NOT NULL,
	revision   INTEGER NOT NULL,
	bound      INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	label      TEXT NOT NULL,
	protocol   INTEGER NOT NULL DEFAULT 2,
	PRIMARY KEY (namespace, layout, worker)
);
CREATE INDEX IF NOT EXISTS snowkey_lease_expires ON snowkey_lease (namespace, layout, expires_at)
