CREATE TABLE IF NOT EXISTS {table} (
	id      INTEGER NOT NULL PRIMARY KEY,
	user_id INTEGER NOT NULL,
	hash    TEXT NOT NULL, -- SHA-256 of the token, in hex
	seen    INTEGER NOT NULL, -- ms since 1970
	expires INTEGER NOT NULL, -- ms since 1970
	protocol INTEGER NOT NULL DEFAULT {protocol}, -- of Snowkey, not of the application
	UNIQUE (user_id, id),
	UNIQUE (expires, id) -- for Cleanup
)
