DELIMITER //

CREATE TABLE IF NOT EXISTS `snowkey_lease_ns` (
	namespace   VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	position    BIGINT NOT NULL,
	layout      VARCHAR(1020) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	fingerprint VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	fence       BIGINT NOT NULL,
	protocol    BIGINT NOT NULL DEFAULT 2, -- of Snowkey, not of the application
	PRIMARY KEY (namespace, position),
	UNIQUE KEY (namespace, layout)
) ENGINE = InnoDB//

CREATE TABLE IF NOT EXISTS `snowkey_lease` (
	namespace  VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	layout     VARCHAR(1020) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	worker     BIGINT NOT NULL,
	token      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- '-' if the row is free
	revision   BIGINT NOT NULL,
	bound      BIGINT NOT NULL,
	expires_at BIGINT NOT NULL, -- microseconds since 1970; 0 if the row is free
	label      VARCHAR(1020) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	protocol   BIGINT NOT NULL DEFAULT 2,
	PRIMARY KEY (namespace, layout, worker),
	KEY (namespace, layout, expires_at) -- for the row that becomes free next
) ENGINE = InnoDB//

DROP PROCEDURE IF EXISTS `snowkey_next_reserve`//

-- Worker number 1023 is reserved for SQL, so that no process can lease it.
CREATE PROCEDURE `snowkey_next_reserve`()
BEGIN
	DECLARE now, free BIGINT;
	DECLARE id CHAR(36);
	DECLARE who TEXT;
	DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
		ROLLBACK;
		RESIGNAL;
	END;
	IF VERSION() LIKE '%MariaDB%' OR VERSION() NOT REGEXP '^([89]|[1-9][0-9])[.]' THEN
		SIGNAL SQLSTATE '0A000' SET MESSAGE_TEXT = 'snowkey: this SQL needs MySQL 8.0 or later; for MariaDB, print it with --dialect mariadb';
	END IF;
	IF (SELECT COUNT(*) = 2 FROM performance_schema.global_variables WHERE variable_name = 'group_replication_single_primary_mode' AND variable_value = 'OFF' OR variable_name = 'group_replication_group_name' AND variable_value LIKE '%-%') THEN
		SIGNAL SQLSTATE '0A000' SET MESSAGE_TEXT = 'snowkey: each member of a multi-primary group has its own counter, so ids from SQL would repeat';
	END IF;
	SET id = UUID(), now = (CAST(CONV(CONCAT(SUBSTR(id, 16, 3), SUBSTR(id, 10, 4), SUBSTR(id, 1, 8)), 16, 10) AS SIGNED) - 122192928000000000) DIV 10;
	SET free = ((now + 11000000 - 1735689600000000) DIV 1000 + 1) * 4096; -- the bound of a new row
	START TRANSACTION;
	SET who = (SELECT layout FROM (SELECT layout FROM `snowkey_lease_ns` WHERE namespace = _ascii x'64656661756c74' UNION SELECT layout FROM `snowkey_lease` WHERE namespace = _ascii x'64656661756c74') l
		WHERE layout <> _ascii x'303a31205c75323530322074696d653a3431205c753030643720316d732073696e636520323032352d30312d30315430303a30303a30305a205c753235303220776f726b65723a3130205c75323530322073657175656e63653a3132' LIMIT 1);
	IF who IS NOT NULL THEN
		SET who = LEFT(CONCAT('snowkey: the namespace has another layout: ', who), 128);
		SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = who;
	END IF;
	SET who = (SELECT CONCAT('worker number ', worker, ' of namespace ', namespace) FROM `snowkey_lease`
		WHERE token = _ascii x'73716c3a736e6f776b65795f6e657874' AND (namespace <> _ascii x'64656661756c74' OR layout <> _ascii x'303a31205c75323530322074696d653a3431205c753030643720316d732073696e636520323032352d30312d30315430303a30303a30305a205c753235303220776f726b65723a3130205c75323530322073657175656e63653a3132' OR worker <> 1023) LIMIT 1);
	IF who IS NOT NULL THEN
		SET who = LEFT(CONCAT('snowkey: the function already makes ids with ', who, '; use another --name'), 128);
		SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = who;
	END IF;

	INSERT INTO `snowkey_lease` (namespace, layout, worker, token, revision, bound, expires_at, label)
		VALUES (_ascii x'64656661756c74', _ascii x'303a31205c75323530322074696d653a3431205c753030643720316d732073696e636520323032352d30312d30315430303a30303a30305a205c753235303220776f726b65723a3130205c75323530322073657175656e63653a3132', 1023, _ascii x'73716c3a736e6f776b65795f6e657874', 0, free, 7258118400000000, 'SQL')
		ON DUPLICATE KEY UPDATE namespace = _ascii x'64656661756c74';
	UPDATE `snowkey_lease` SET token = _ascii x'73716c3a736e6f776b65795f6e657874', revision = revision + 1, expires_at = 7258118400000000, label = 'SQL'
		WHERE namespace = _ascii x'64656661756c74' AND layout = _ascii x'303a31205c75323530322074696d653a3431205c753030643720316d732073696e636520323032352d30312d30315430303a30303a30305a205c753235303220776f726b65723a3130205c75323530322073657175656e63653a3132' AND worker = 1023 AND protocol = 2
		AND token <> _ascii x'73716c3a736e6f776b65795f6e657874' AND (token = '-' OR expires_at + 1000000 < now);
	SET who = (SELECT label FROM `snowkey_lease`
		WHERE namespace = _ascii x'64656661756c74' AND layout = _ascii x'303a31205c75323530322074696d653a3431205c753030643720316d732073696e636520323032352d30312d30315430303a30303a30305a205c753235303220776f726b65723a3130205c75323530322073657175656e63653a3132' AND worker = 1023 AND (token <> _ascii x'73716c3a736e6f776b65795f6e657874' OR protocol <> 2));
	IF who IS NOT NULL THEN
		SET who = LEFT(CONCAT('snowkey: worker number 1023 is leased by ', who, '; stop it, or use another --worker'), 128);
		SIGNAL SQLSTATE '55006' SET MESSAGE_TEXT = who;
	END IF;

	-- Processes only add many rows above the ones that exist, so this adds the first ones.
	INSERT IGNORE INTO `snowkey_lease` (namespace, layout, worker, token, revision, bound, expires_at, label)
		WITH RECURSIVE d (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM d WHERE i < 31)
		SELECT _ascii x'64656661756c74', _ascii x'303a31205c75323530322074696d653a3431205c753030643720316d732073696e636520323032352d30312d30315430303a30303a30305a205c753235303220776f726b65723a3130205c75323530322073657175656e63653a3132', a.i * 32 + b.i, '-', 0, free, 0, '-' FROM d a, d b WHERE a.i * 32 + b.i < 1023;
	COMMIT;
END//

CALL `snowkey_next_reserve`()//

DROP PROCEDURE `snowkey_next_reserve`//

-- The counter is the AUTO_INCREMENT value of this table: 4096 times the tick, plus a number. Each insert draws the next value, and an
-- insert with an explicit value can only raise it. It isn't transactional, and it is in InnoDB's log before the ids are used. No
-- insert waits for the COMMIT of another one, because s makes all keys different. The rows are deleted at once.
--
-- The history is a table of the same form. The lower 40 bits are a hash that shows whether commits may have been lost since the
-- counter was last raised above them. The upper bits count, because the value can't be lowered. Neither table may be dropped. If they
-- are lost, new ones start above everything that the old ones allowed.
CREATE TABLE IF NOT EXISTS `snowkey_next_counter` (c BIGINT NOT NULL AUTO_INCREMENT, s BIGINT NOT NULL, PRIMARY KEY (c, s)) ENGINE = InnoDB//

CREATE TABLE IF NOT EXISTS `snowkey_next_history` (c BIGINT NOT NULL AUTO_INCREMENT, s BIGINT NOT NULL, PRIMARY KEY (c, s)) ENGINE = InnoDB//

DROP FUNCTION IF EXISTS `snowkey_next`//

-- Returns one id. UUID() has the time of the server's clock, which a session can't change with SET timestamp or time_zone. With a
-- binary log, MySQL refuses MODIFIES SQL DATA. It uses READS SQL DATA for nothing else, and logs the rows.
CREATE FUNCTION `snowkey_next`() RETURNS BIGINT
NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
BEGIN
	DECLARE now, began, tick, hash, granted, past, v, delay, waited BIGINT DEFAULT 0;
	DECLARE limits, least_tick BIGINT;  -- this session may use ticks below the limit
	DECLARE last BIGINT DEFAULT 0;      -- the last number of this session
	DECLARE known BOOLEAN DEFAULT TRUE;
	DECLARE expiry BIGINT;
	DECLARE id CHAR(36);
	DECLARE me VARBINARY(400) DEFAULT CONCAT_WS('/', DATABASE(), @@server_uuid, CONNECTION_ID());
	DECLARE problem TEXT;

	IF @@log_bin AND @@binlog_format = 'STATEMENT' THEN
		SIGNAL SQLSTATE '0A000' SET MESSAGE_TEXT = 'snowkey: with binlog_format = STATEMENT, replicas would make other ids; use ROW or MIXED';
	END IF;
	-- Proxies may copy the variables to another session or another server.
	IF CAST(@`snowkey_next of` AS BINARY) = me THEN
		SET limits = @`snowkey_next limit`, last = @`snowkey_next last`;
	END IF;
	SET least_tick = 0;
	take: LOOP
		SET id = UUID(), now = (CAST(CONV(CONCAT(SUBSTR(id, 16, 3), SUBSTR(id, 10, 4), SUBSTR(id, 1, 8)), 16, 10) AS SIGNED) - 122192928000000000) DIV 10;
		SET tick = (now - 1735689600000000) DIV 1000;
		INSERT INTO `snowkey_next_counter` (s) VALUES (CONNECTION_ID());
		SET v = LAST_INSERT_ID();
		DELETE FROM `snowkey_next_counter` WHERE c = v AND s = CONNECTION_ID();
		-- A counter that starts again is raised, even if the session has a limit.
		IF v DIV 4096 = 0 OR v <= last THEN
			SET limits = NULL, known = FALSE;
		END IF;
		IF limits IS NULL OR limits <= tick THEN
			IF (SELECT COUNT(*) = 2 FROM performance_schema.global_variables WHERE variable_name = 'group_replication_single_primary_mode' AND variable_value = 'OFF' OR variable_name = 'group_replication_group_name' AND variable_value LIKE '%-%') THEN
				SIGNAL SQLSTATE '0A000' SET MESSAGE_TEXT = 'snowkey: each member of a multi-primary group has its own counter, so ids from SQL would repeat';
			END IF;
			-- Check that the row is still reserved. If it is deleted later, a process that gets the number starts at the end of
			-- the tick that is 11000000 microseconds later, so ids below that are safe. A locking read sees the row as it is
			-- now, and not the snapshot of the transaction.
			SET began = now, granted = NULL;
			BEGIN
				DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
				SELECT GREATEST(l.bound, COALESCE((SELECT n.fence FROM `snowkey_lease_ns` n WHERE n.namespace = l.namespace AND n.layout = l.layout), 0))
					INTO granted FROM `snowkey_lease` l
					WHERE l.namespace = _ascii x'64656661756c74' AND l.layout = _ascii x'303a31205c75323530322074696d653a3431205c753030643720316d732073696e636520323032352d30312d30315430303a30303a30305a205c753235303220776f726b65723a3130205c75323530322073657175656e63653a3132' AND l.worker = 1023 AND l.token = _ascii x'73716c3a736e6f776b65795f6e657874' AND l.protocol = 2
					FOR SHARE OF l;
			END;
			IF granted IS NULL THEN
				SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'snowkey: worker number 1023 is not reserved for SQL; run the SQL of "snowkey sql" again';
			END IF;
			SET limits = (began + 11000000 - 1735689600000000) DIV 1000 + 1, least_tick = (granted + 4096 - 1) DIV 4096;
			-- Otherwise MySQL may return a value of yesterday.
			SET expiry = @@SESSION.information_schema_stats_expiry, SESSION information_schema_stats_expiry = 0;
			SET hash = CONV(LEFT(SHA2(CONCAT_WS('/', @@server_uuid, DATABASE(), (SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_lease'), (SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_lease_ns'), (SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_next_counter')), 256), 10), 16, 10);
			SET past = COALESCE((SELECT auto_increment - 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_next_history'), 0);
			SET SESSION information_schema_stats_expiry = expiry;
			IF past MOD 1099511627776 <> hash THEN
				SET known = FALSE;
			END IF;
			IF NOT known THEN
				SET least_tick = GREATEST(least_tick, (now + 11000000 + 1000000 - 1735689600000000) DIV 1000 + 1);
			END IF;
		END IF;

		SET tick = GREATEST(tick, least_tick);
		IF v DIV 4096 < tick THEN
			SET v = tick * 4096 + CRC32(tick) MOD 1024 - 1;
			INSERT INTO `snowkey_next_counter` (c, s) VALUES (v, CONNECTION_ID());
			DELETE FROM `snowkey_next_counter` WHERE c = v AND s = CONNECTION_ID();
			SET v = NULL;
		END IF;
		IF NOT known THEN
			SET past = (past DIV 1099511627776 + 1) * 1099511627776 + hash;
			INSERT INTO `snowkey_next_history` (c, s) VALUES (past, CONNECTION_ID());
			DELETE FROM `snowkey_next_history` WHERE c = past AND s = CONNECTION_ID();
			SET known = TRUE, last = 0;
		END IF;
		IF v IS NULL THEN
			ITERATE take;
		END IF;
		SET tick = v DIV 4096;
		IF tick > 2199023255551 THEN
			SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = 'snowkey: the layout has ended';
		END IF;
		IF tick < limits THEN
			LEAVE take;
		END IF;

		-- The counter is too far ahead of the clock. This is so after a burst, after the clock went back, and when the counter was
		-- raised above what may have been lost.
		IF began > 0 THEN
			SET delay = (tick - limits + 1) * 1000, waited = waited + delay;
			IF waited > 10000000 THEN
				SET problem = CONCAT('snowkey: ids would be ', ROUND((delay + 11000000) / 1000000, 1), ' s ahead of the clock; correct the clock, or try again later');
				SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = problem;
			END IF;
			DO SLEEP(delay / 1000000);
		END IF;
		SET limits = NULL;
	END LOOP;
	SET @`snowkey_next of` = me, @`snowkey_next limit` = limits, @`snowkey_next last` = v;
	RETURN 4190208 | v DIV 4096 << 22 | v MOD 4096 << 0;
END//

DELIMITER ;
