CREATE TABLE IF NOT EXISTS snowkey_lease_ns (
	namespace   TEXT NOT NULL PRIMARY KEY,
	layout      TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	fence       INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS snowkey_lease (
	namespace  TEXT NOT NULL,
	worker     INTEGER NOT NULL,
	token      TEXT NOT NULL,
	revision   INTEGER NOT NULL,
	bound      INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	label      TEXT NOT NULL,
	PRIMARY KEY (namespace, worker)
)
