CREATE TABLE IF NOT EXISTS snowkey_lease_ns (
	namespace   VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
	layout      VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	fingerprint VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	fence       BIGINT NOT NULL
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS snowkey_lease (
	namespace  VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	worker     BIGINT NOT NULL,
	token      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	revision   BIGINT NOT NULL,
	bound      BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	label      VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	PRIMARY KEY (namespace, worker)
) ENGINE = InnoDB
