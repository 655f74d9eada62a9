CREATE TABLE IF NOT EXISTS {table} (
	name  VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
	start BIGINT NOT NULL,
	bound BIGINT NOT NULL,
	protocol BIGINT NOT NULL DEFAULT {protocol} -- of Snowkey, not of the application
) ENGINE = InnoDB
