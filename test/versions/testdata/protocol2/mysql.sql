CREATE TABLE IF NOT EXISTS snowkey_lease_ns (
	namespace   VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	position    BIGINT NOT NULL,
	layout      VARCHAR(1020) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	fingerprint VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	fence       BIGINT NOT NULL,
	protocol    BIGINT NOT NULL DEFAULT 2,
	PRIMARY KEY (namespace, position),
	UNIQUE KEY (namespace, layout)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS snowkey_lease (
	namespace  VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	layout     VARCHAR(1020) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	worker     BIGINT NOT NULL,
	token      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	revision   BIGINT NOT NULL,
	bound      BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	label      VARCHAR(1020) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	protocol   BIGINT NOT NULL DEFAULT 2,
	PRIMARY KEY (namespace, layout, worker),
	KEY (namespace, layout, expires_at)
) ENGINE = InnoDB
