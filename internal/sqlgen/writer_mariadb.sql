-- Worker number {worker} is reserved for SQL, so that no process can lease it.
BEGIN NOT ATOMIC
	DECLARE now, free BIGINT;
	DECLARE who TEXT;
	IF @@wsrep_on AND @@wsrep_provider <> 'none' THEN
		SIGNAL SQLSTATE '0A000' SET MESSAGE_TEXT = 'snowkey: ids from SQL are not safe on Galera; let the processes make them';
	END IF;
	{set now};
	SET free = ((now + {ahead} + {skew} - {epoch}) DIV {unit} + 1) * {ids}; -- the bound of a new row
{reserve the row}
END
;;

-- The counter is the AUTO_INCREMENT value of this table. It is {blocks} times the tick, plus the number of a block of {block} ids. An insert
-- with an explicit value can only raise it. It is not transactional, it is in InnoDB's log before the ids are used. No insert waits
-- for the COMMIT of another one, because s makes all keys different. The rows are deleted at once.
--
-- The history is a table of the same form. The lower 40 bits are a hash that shows whether commits may have been lost since the
-- counter was last raised above them. The upper bits count, because the value can't be lowered. Neither table may be dropped. If they
-- are lost, new ones start above everything that the old ones allowed.
CREATE TABLE IF NOT EXISTS {counter} (c BIGINT NOT NULL AUTO_INCREMENT, s BIGINT NOT NULL, PRIMARY KEY (c, s)) ENGINE = InnoDB
;;
CREATE TABLE IF NOT EXISTS {history} (c BIGINT NOT NULL AUTO_INCREMENT, s BIGINT NOT NULL, PRIMARY KEY (c, s)) ENGINE = InnoDB
;;

-- A session has a last value of this sequence if it has used the sequence before, and the sequence was not created again since.
-- So a session notices when a dump is restored.
CREATE SEQUENCE IF NOT EXISTS {sessions} START WITH 1 CACHE 1000 CYCLE ENGINE = InnoDB
;;

-- Draws a block, of which the session keeps the rest, and returns its first id.
CREATE OR REPLACE FUNCTION {enter}() RETURNS BIGINT
NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
BEGIN
	DECLARE now, began, tick, hash, granted, past, v, delay, waited BIGINT DEFAULT 0;
	DECLARE limits, least_tick BIGINT;  -- this session may use ticks below the limit
	DECLARE known, raised, lowered BOOLEAN DEFAULT FALSE;
	DECLARE problem TEXT;

	IF @{v:of} = {me} AND LASTVAL({sessions}) IS NOT NULL THEN
		SET limits = @{v:limit};
	END IF;
	SET v = NULL, known = TRUE, least_tick = 0;
	take: LOOP
		{set now};
		SET tick = (now - {epoch}) DIV {unit};
		IF limits IS NULL OR limits <= tick THEN
			IF @@wsrep_on AND @@wsrep_provider <> 'none' THEN
				SIGNAL SQLSTATE '0A000' SET MESSAGE_TEXT = 'snowkey: ids from SQL are not safe on Galera; let the processes make them';
			END IF;
			-- Check that the row is still reserved. If it is deleted later, a process that gets the number starts at the end of
			-- the tick that is {ahead} microseconds later, so ids below that are safe. A locking read sees the row as it is
			-- now, and not the snapshot of the transaction.
			SET began = now, granted = NULL, limits = NEXTVAL({sessions});
			SET STATEMENT time_zone = '+00:00' FOR
			SELECT GREATEST(l.bound, COALESCE((SELECT n.fence FROM {ns} n WHERE n.namespace = l.namespace AND n.layout = l.layout), 0)), {hash}
				INTO granted, hash FROM {lease} l
				WHERE l.namespace = {namespace} AND l.layout = {layout} AND l.worker = {worker} AND l.token = {token} AND l.protocol = {protocol}
				LOCK IN SHARE MODE;
			IF granted IS NULL THEN
				SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'snowkey: worker number {worker} is not reserved for SQL; run the SQL of "snowkey sql" again';
			END IF;
			SET limits = (began + {ahead} - {epoch}) DIV {unit} + 1, least_tick = (granted + {ids} - 1) DIV {ids};
			SET past = COALESCE((SELECT auto_increment - 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = {history'}), 0);
			SET known = NOT lowered AND past MOD 1099511627776 = hash;
		END IF;
		IF v IS NULL THEN
			-- This draws before it raises the counter. So it sees if the counter starts again.
			INSERT INTO {counter} (s) VALUES (CONNECTION_ID());
			SET v = LAST_INSERT_ID();
			DELETE FROM {counter} WHERE c = v AND s = CONNECTION_ID();
			-- A counter that starts again is raised, even if a session has a limit.
			IF v DIV {blocks} = 0 OR @{v:of} = {me} AND v <= @{v:last} THEN
				SET known = FALSE;
			END IF;
		END IF;
		IF NOT known THEN
			IF began = 0 THEN -- what was checked before was for another counter
				SET limits = NULL, v = NULL, lowered = TRUE;
				ITERATE take;
			END IF;
			SET least_tick = GREATEST(least_tick, (now + {ahead} + {skew} - {epoch}) DIV {unit} + 1);
		END IF;
		SET tick = GREATEST(tick, least_tick);
		IF v DIV {blocks} < tick THEN
			SET v = tick * {blocks} + CRC32(tick) MOD {some blocks} - 1, raised = TRUE;
			INSERT INTO {counter} (c, s) VALUES (v, CONNECTION_ID());
			DELETE FROM {counter} WHERE c = v AND s = CONNECTION_ID();
			SET v = NULL;
		END IF;
		IF NOT known THEN
			SET past = (past DIV 1099511627776 + 1) * 1099511627776 + hash;
			INSERT INTO {history} (c, s) VALUES (past, CONNECTION_ID());
			DELETE FROM {history} WHERE c = past AND s = CONNECTION_ID();
			SET known = TRUE, lowered = FALSE, v = NULL, @{v:last} = 0;
		END IF;
		IF v IS NULL THEN
			ITERATE take;
		END IF;
		SET tick = v DIV {blocks};
{check the tick}
	END LOOP;
	SET @{v:of} = {me}, @{v:limit} = limits, @{v:last} = v, @{v:until} = ({epoch} + (tick + {stale}) * {unit}) / 1000000;
	SET @{v:id} = {fixed} | tick << {time shift} | v MOD {blocks} * {block} << {sequence shift};
	SET @{v:end} = @{v:id} | {block} - 1 << {sequence shift};
	SET @{v:id} = @{v:id} | IF(raised, CRC32(v) MOD {some ids}, 0) << {sequence shift};
	RETURN @{v:id};
END
;;

-- Returns one id. Without the cast, the first result of a session would be rounded, because a variable without a value is a string.
CREATE OR REPLACE FUNCTION {next}() RETURNS BIGINT
NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
RETURN IF(@{v:id} < @{v:end} AND @@timestamp < @{v:until} AND @{v:of} = {me}, @{v:id} := CAST(@{v:id} AS SIGNED) + (1 << {sequence shift}), {enter}())
