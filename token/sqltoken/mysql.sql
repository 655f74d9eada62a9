CREATE TABLE IF NOT EXISTS {table} (
	id      BIGINT NOT NULL PRIMARY KEY,
	user_id BIGINT NOT NULL,
	hash    VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- SHA-256 of the token, in hex
	seen    BIGINT NOT NULL, -- ms since 1970
	expires BIGINT NOT NULL, -- ms since 1970
	protocol BIGINT NOT NULL DEFAULT {protocol}, -- of Snowkey, not of the application
	UNIQUE (user_id, id),
	UNIQUE (expires, id) -- for Cleanup
) ENGINE = InnoDB
