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

-- Worker number 1023 is reserved for SQL, so that no process can lease it.
BEGIN NOT ATOMIC
	DECLARE now, free BIGINT;
	DECLARE who TEXT;
	IF @@wsrep_on AND @@wsrep_provider <> 'none' THEN
		SIGNAL SQLSTATE '0A000' SET MESSAGE_TEXT = 'snowkey: ids from SQL are not safe on Galera; let the processes make them';
	END IF;
	SET STATEMENT time_zone = '+00:00' FOR SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) INTO now;
	SET free = ((now + 11000000 - 1735689600000000) DIV 1000 + 1) * 4096; -- the bound of a new row
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
		WITH d (i) AS (SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9 UNION ALL SELECT 10 UNION ALL SELECT 11 UNION ALL SELECT 12 UNION ALL SELECT 13 UNION ALL SELECT 14 UNION ALL SELECT 15 UNION ALL SELECT 16 UNION ALL SELECT 17 UNION ALL SELECT 18 UNION ALL SELECT 19 UNION ALL SELECT 20 UNION ALL SELECT 21 UNION ALL SELECT 22 UNION ALL SELECT 23 UNION ALL SELECT 24 UNION ALL SELECT 25 UNION ALL SELECT 26 UNION ALL SELECT 27 UNION ALL SELECT 28 UNION ALL SELECT 29 UNION ALL SELECT 30 UNION ALL SELECT 31)
		SELECT _ascii x'64656661756c74', _ascii x'303a31205c75323530322074696d653a3431205c753030643720316d732073696e636520323032352d30312d30315430303a30303a30305a205c753235303220776f726b65723a3130205c75323530322073657175656e63653a3132', a.i * 32 + b.i, '-', 0, free, 0, '-' FROM d a, d b WHERE a.i * 32 + b.i < 1023;
END//

-- The counter is the AUTO_INCREMENT value of this table. It is 64 times the tick, plus the number of a block of 64 ids. An insert
-- with an explicit value can only raise it. It is not transactional, it is in InnoDB's log before the ids are used. No insert waits
-- for the COMMIT of another one, because s makes all keys different. The rows are deleted at once.
--
-- The history is a table of the same form. The lower 40 bits are a hash that shows whether commits may have been lost since the
-- counter was last raised above them. The upper bits count, because the value can't be lowered. Neither table may be dropped. If they
-- are lost, new ones start above everything that the old ones allowed.
CREATE TABLE IF NOT EXISTS `snowkey_next_counter` (c BIGINT NOT NULL AUTO_INCREMENT, s BIGINT NOT NULL, PRIMARY KEY (c, s)) ENGINE = InnoDB//

CREATE TABLE IF NOT EXISTS `snowkey_next_history` (c BIGINT NOT NULL AUTO_INCREMENT, s BIGINT NOT NULL, PRIMARY KEY (c, s)) ENGINE = InnoDB//

-- A session has a last value of this sequence if it has used the sequence before, and the sequence was not created again since.
-- So a session notices when a dump is restored.
CREATE SEQUENCE IF NOT EXISTS `snowkey_next_sessions` START WITH 1 CACHE 1000 CYCLE ENGINE = InnoDB//

-- Draws a block, of which the session keeps the rest, and returns its first id.
CREATE OR REPLACE FUNCTION `snowkey_next_enter`() RETURNS BIGINT
NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
BEGIN
	DECLARE now, began, tick, hash, granted, past, v, delay, waited BIGINT DEFAULT 0;
	DECLARE limits, least_tick BIGINT;  -- this session may use ticks below the limit
	DECLARE known, raised, lowered BOOLEAN DEFAULT FALSE;
	DECLARE problem TEXT;

	IF @`snowkey_next of` = BINARY CONCAT_WS('/', DATABASE(), @@hostname, @@port, @@GLOBAL.server_id, CONNECTION_ID()) AND LASTVAL(`snowkey_next_sessions`) IS NOT NULL THEN
		SET limits = @`snowkey_next limit`;
	END IF;
	SET v = NULL, known = TRUE, least_tick = 0;
	take: LOOP
		SET STATEMENT time_zone = '+00:00' FOR SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) INTO now;
		SET tick = (now - 1735689600000000) DIV 1000;
		IF limits IS NULL OR limits <= tick THEN
			IF @@wsrep_on AND @@wsrep_provider <> 'none' THEN
				SIGNAL SQLSTATE '0A000' SET MESSAGE_TEXT = 'snowkey: ids from SQL are not safe on Galera; let the processes make them';
			END IF;
			-- Check that the row is still reserved. If it is deleted later, a process that gets the number starts at the end of
			-- the tick that is 11000000 microseconds later, so ids below that are safe. A locking read sees the row as it is
			-- now, and not the snapshot of the transaction.
			SET began = now, granted = NULL, limits = NEXTVAL(`snowkey_next_sessions`);
			SET STATEMENT time_zone = '+00:00' FOR
			SELECT GREATEST(l.bound, COALESCE((SELECT n.fence FROM `snowkey_lease_ns` n WHERE n.namespace = l.namespace AND n.layout = l.layout), 0)), CONV(LEFT(MD5(CONCAT_WS('/', @@hostname, @@port, @@GLOBAL.server_id, DATABASE(), (SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_lease'), (SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_lease_ns'), (SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_next_counter'), (SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_next_sessions'))), 10), 16, 10)
				INTO granted, hash FROM `snowkey_lease` l
				WHERE l.namespace = _ascii x'64656661756c74' AND l.layout = _ascii x'303a31205c75323530322074696d653a3431205c753030643720316d732073696e636520323032352d30312d30315430303a30303a30305a205c753235303220776f726b65723a3130205c75323530322073657175656e63653a3132' AND l.worker = 1023 AND l.token = _ascii x'73716c3a736e6f776b65795f6e657874' AND l.protocol = 2
				LOCK IN SHARE MODE;
			IF granted IS NULL THEN
				SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'snowkey: worker number 1023 is not reserved for SQL; run the SQL of "snowkey sql" again';
			END IF;
			SET limits = (began + 11000000 - 1735689600000000) DIV 1000 + 1, least_tick = (granted + 4096 - 1) DIV 4096;
			SET past = COALESCE((SELECT auto_increment - 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_next_history'), 0);
			SET known = NOT lowered AND past MOD 1099511627776 = hash;
		END IF;
		IF v IS NULL THEN
			-- This draws before it raises the counter. So it sees if the counter starts again.
			INSERT INTO `snowkey_next_counter` (s) VALUES (CONNECTION_ID());
			SET v = LAST_INSERT_ID();
			DELETE FROM `snowkey_next_counter` WHERE c = v AND s = CONNECTION_ID();
			-- A counter that starts again is raised, even if a session has a limit.
			IF v DIV 64 = 0 OR @`snowkey_next of` = BINARY CONCAT_WS('/', DATABASE(), @@hostname, @@port, @@GLOBAL.server_id, CONNECTION_ID()) AND v <= @`snowkey_next last` THEN
				SET known = FALSE;
			END IF;
		END IF;
		IF NOT known THEN
			IF began = 0 THEN -- what was checked before was for another counter
				SET limits = NULL, v = NULL, lowered = TRUE;
				ITERATE take;
			END IF;
			SET least_tick = GREATEST(least_tick, (now + 11000000 + 1000000 - 1735689600000000) DIV 1000 + 1);
		END IF;
		SET tick = GREATEST(tick, least_tick);
		IF v DIV 64 < tick THEN
			SET v = tick * 64 + CRC32(tick) MOD 16 - 1, raised = TRUE;
			INSERT INTO `snowkey_next_counter` (c, s) VALUES (v, CONNECTION_ID());
			DELETE FROM `snowkey_next_counter` WHERE c = v AND s = CONNECTION_ID();
			SET v = NULL;
		END IF;
		IF NOT known THEN
			SET past = (past DIV 1099511627776 + 1) * 1099511627776 + hash;
			INSERT INTO `snowkey_next_history` (c, s) VALUES (past, CONNECTION_ID());
			DELETE FROM `snowkey_next_history` WHERE c = past AND s = CONNECTION_ID();
			SET known = TRUE, lowered = FALSE, v = NULL, @`snowkey_next last` = 0;
		END IF;
		IF v IS NULL THEN
			ITERATE take;
		END IF;
		SET tick = v DIV 64;
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
	SET @`snowkey_next of` = BINARY CONCAT_WS('/', DATABASE(), @@hostname, @@port, @@GLOBAL.server_id, CONNECTION_ID()), @`snowkey_next limit` = limits, @`snowkey_next last` = v, @`snowkey_next until` = (1735689600000000 + (tick + 50) * 1000) / 1000000;
	SET @`snowkey_next id` = 4190208 | tick << 22 | v MOD 64 * 64 << 0;
	SET @`snowkey_next end` = @`snowkey_next id` | 64 - 1 << 0;
	SET @`snowkey_next id` = @`snowkey_next id` | IF(raised, CRC32(v) MOD 32, 0) << 0;
	RETURN @`snowkey_next id`;
END//

-- Returns one id. Without the cast, the first result of a session would be rounded, because a variable without a value is a string.
CREATE OR REPLACE FUNCTION `snowkey_next`() RETURNS BIGINT
NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
RETURN IF(@`snowkey_next id` < @`snowkey_next end` AND @@timestamp < @`snowkey_next until` AND @`snowkey_next of` = BINARY CONCAT_WS('/', DATABASE(), @@hostname, @@port, @@GLOBAL.server_id, CONNECTION_ID()), @`snowkey_next id` := CAST(@`snowkey_next id` AS SIGNED) + (1 << 0), `snowkey_next_enter`())//

DELIMITER ;
