CREATE TABLE IF NOT EXISTS {ns} (
	namespace   TEXT NOT NULL,
	position    INTEGER NOT NULL,
	layout      TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	fence       INTEGER NOT NULL,
	born        INTEGER NOT NULL,
	PRIMARY KEY (namespace, position),
	UNIQUE (namespace, layout)
);

CREATE TABLE IF NOT EXISTS {lease} (
	namespace  TEXT NOT NULL,
	layout     TEXT NOT NULL,
	worker     INTEGER NOT NULL,
	token      TEXT NOT NULL,
	revision   INTEGER NOT NULL,
	bound      INTEGER NOT NULL,
	expires_at INTEGER NOT NULL, -- microseconds since 1970
	label      TEXT NOT NULL,
	PRIMARY KEY (namespace, layout, worker)
)
