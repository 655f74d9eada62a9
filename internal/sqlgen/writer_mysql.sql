DROP PROCEDURE IF EXISTS {reserve}
;;
-- Worker number {worker} is reserved for SQL, so that no process can lease it.
CREATE PROCEDURE {reserve}()
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
	IF {multi-primary} THEN
		SIGNAL SQLSTATE '0A000' SET MESSAGE_TEXT = 'snowkey: each member of a multi-primary group has its own counter, so ids from SQL would repeat';
	END IF;
	{set now};
	SET free = ((now + {ahead} + {skew} - {epoch}) DIV {unit} + 1) * {ids}; -- the bound of a new row
	START TRANSACTION;
{reserve the row}
	COMMIT;
END
;;
CALL {reserve}()
;;
DROP PROCEDURE {reserve}
;;

-- The counter is the AUTO_INCREMENT value of this table: {ids} times the tick, plus a number. Each insert draws the next value, and an
-- insert with an explicit value can only raise it. It isn't transactional, and it is in InnoDB's log before the ids are used. No
-- insert waits for the COMMIT of another one, because s makes all keys different. The rows are deleted at once.
--
-- The history is a table of the same form. The lower 40 bits are a hash that shows whether commits may have been lost since the
-- counter was last raised above them. The upper bits count, because the value can't be lowered. Neither table may be dropped. If they
-- are lost, new ones start above everything that the old ones allowed.
CREATE TABLE IF NOT EXISTS {counter} (c BIGINT NOT NULL AUTO_INCREMENT, s BIGINT NOT NULL, PRIMARY KEY (c, s)) ENGINE = InnoDB
;;
CREATE TABLE IF NOT EXISTS {history} (c BIGINT NOT NULL AUTO_INCREMENT, s BIGINT NOT NULL, PRIMARY KEY (c, s)) ENGINE = InnoDB
;;
DROP FUNCTION IF EXISTS {next}
;;

-- Returns one id. UUID() has the time of the server's clock, which a session can't change with SET timestamp or time_zone. With a
-- binary log, MySQL refuses MODIFIES SQL DATA. It uses READS SQL DATA for nothing else, and logs the rows.
CREATE FUNCTION {next}() RETURNS BIGINT
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
	IF CAST(@{v:of} AS BINARY) = me THEN
		SET limits = @{v:limit}, last = @{v:last};
	END IF;
	SET least_tick = 0;
	take: LOOP
		{set now};
		SET tick = (now - {epoch}) DIV {unit};
		INSERT INTO {counter} (s) VALUES (CONNECTION_ID());
		SET v = LAST_INSERT_ID();
		DELETE FROM {counter} WHERE c = v AND s = CONNECTION_ID();
		-- A counter that starts again is raised, even if the session has a limit.
		IF v DIV {ids} = 0 OR v <= last THEN
			SET limits = NULL, known = FALSE;
		END IF;
		IF limits IS NULL OR limits <= tick THEN
			IF {multi-primary} THEN
				SIGNAL SQLSTATE '0A000' SET MESSAGE_TEXT = 'snowkey: each member of a multi-primary group has its own counter, so ids from SQL would repeat';
			END IF;
			-- Check that the row is still reserved. If it is deleted later, a process that gets the number starts at the end of
			-- the tick that is {ahead} microseconds later, so ids below that are safe. A locking read sees the row as it is
			-- now, and not the snapshot of the transaction.
			SET began = now, granted = NULL;
			BEGIN
				DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
				SELECT GREATEST(l.bound, COALESCE((SELECT n.fence FROM {ns} n WHERE n.namespace = l.namespace AND n.layout = l.layout), 0))
					INTO granted FROM {lease} l
					WHERE l.namespace = {namespace} AND l.layout = {layout} AND l.worker = {worker} AND l.token = {token} AND l.protocol = {protocol}
					FOR SHARE OF l;
			END;
			IF granted IS NULL THEN
				SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'snowkey: worker number {worker} is not reserved for SQL; run the SQL of "snowkey sql" again';
			END IF;
			SET limits = (began + {ahead} - {epoch}) DIV {unit} + 1, least_tick = (granted + {ids} - 1) DIV {ids};
			-- Otherwise MySQL may return a value of yesterday.
			SET expiry = @@SESSION.information_schema_stats_expiry, SESSION information_schema_stats_expiry = 0;
			SET hash = {hash};
			SET past = COALESCE((SELECT auto_increment - 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = {history'}), 0);
			SET SESSION information_schema_stats_expiry = expiry;
			IF past MOD 1099511627776 <> hash THEN
				SET known = FALSE;
			END IF;
			IF NOT known THEN
				SET least_tick = GREATEST(least_tick, (now + {ahead} + {skew} - {epoch}) DIV {unit} + 1);
			END IF;
		END IF;

		SET tick = GREATEST(tick, least_tick);
		IF v DIV {ids} < tick THEN
			SET v = tick * {ids} + CRC32(tick) MOD {spread} - 1;
			INSERT INTO {counter} (c, s) VALUES (v, CONNECTION_ID());
			DELETE FROM {counter} WHERE c = v AND s = CONNECTION_ID();
			SET v = NULL;
		END IF;
		IF NOT known THEN
			SET past = (past DIV 1099511627776 + 1) * 1099511627776 + hash;
			INSERT INTO {history} (c, s) VALUES (past, CONNECTION_ID());
			DELETE FROM {history} WHERE c = past AND s = CONNECTION_ID();
			SET known = TRUE, last = 0;
		END IF;
		IF v IS NULL THEN
			ITERATE take;
		END IF;
		SET tick = v DIV {ids};
{check the tick}
	END LOOP;
	SET @{v:of} = me, @{v:limit} = limits, @{v:last} = v;
	RETURN {fixed} | v DIV {ids} << {time shift} | v MOD {ids} << {sequence shift};
END
