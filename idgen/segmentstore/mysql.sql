CREATE TABLE IF NOT EXISTS {table} (
	name  VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
	start BIGINT NOT NULL,
	bound BIGINT NOT NULL,
	protocol BIGINT NOT NULL DEFAULT {protocol} -- of Snowkey, not of the application
) ENGINE = InnoDB
