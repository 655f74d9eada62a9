DO $snowkey$
BEGIN
	IF current_setting('server_version_num')::int < 150000 THEN
		RAISE EXCEPTION 'snowkey: PostgreSQL % has no unlogged sequences', current_setting('server_version')
			USING ERRCODE = '0A000', HINT = 'Use PostgreSQL 15 or later, or take ids from a Go process.';
	END IF;
	IF to_regproc('aurora_version') IS NOT NULL THEN
		RAISE EXCEPTION 'snowkey: Amazon Aurora does not empty unlogged sequences in a crash, so sessions would not notice it'
			USING ERRCODE = '0A000', HINT = 'Take ids from a Go process.';
	END IF;
END
$snowkey$
;;

-- Worker number {worker} is reserved for SQL, so that no process can lease it.
DO $snowkey$
DECLARE
	now bigint := {now};
	free bigint := ((now + {ahead} + {skew} - {epoch}) / {unit} + 1) * {ids}; -- the bound of a new row
	who text;
BEGIN
	PERFORM (SELECT system_identifier FROM pg_control_system()); -- the functions need it
	PERFORM set_config('synchronous_commit', 'on', true); -- sessions must not see a reservation that a crash can undo
	SELECT layout INTO who FROM (SELECT layout FROM {ns} WHERE namespace = {namespace} UNION SELECT layout FROM {lease} WHERE namespace = {namespace}) l
		WHERE layout <> {layout} LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'snowkey: namespace % has another layout: %', {namespace}, who
			USING ERRCODE = '55000', HINT = 'Print this SQL again with that layout, or with another namespace.';
	END IF;
	SELECT format('worker number %s of namespace %s', worker, namespace) INTO who FROM {lease}
		WHERE token = {token} AND (namespace, layout, worker) <> ({namespace}, {layout}, {worker}) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'snowkey: the function % already makes ids with %', {name}, who
			USING ERRCODE = '55000', HINT = 'Print this SQL again with another --name.';
	END IF;

	INSERT INTO {lease} (namespace, layout, worker, token, revision, bound, expires_at, label)
		VALUES ({namespace}, {layout}, {worker}, {token}, 0, free, {never}, 'SQL')
		ON CONFLICT DO NOTHING;
	UPDATE {lease} SET token = {token}, revision = revision + 1, expires_at = {never}, label = 'SQL'
		WHERE namespace = {namespace} AND layout = {layout} AND worker = {worker} AND protocol = {protocol}
		AND token <> {token} AND (token = '-' OR expires_at + {skew} < now);
	SELECT label INTO who FROM {lease}
		WHERE namespace = {namespace} AND layout = {layout} AND worker = {worker} AND (token <> {token} OR protocol <> {protocol});
	IF FOUND THEN
		RAISE EXCEPTION 'snowkey: worker number {worker} of namespace % is leased by %', {namespace}, who
			USING ERRCODE = '55006', HINT = 'Stop that process, or print this SQL again with another --worker.';
	END IF;

	-- Processes only add many rows above the ones that exist, so this adds the first ones.
	INSERT INTO {lease} (namespace, layout, worker, token, revision, bound, expires_at, label)
		SELECT {namespace}, {layout}, w, '-', 0, free, 0, '-' FROM generate_series(0, LEAST({worker}, 1024) - 1) w
		ON CONFLICT DO NOTHING;
END
$snowkey$
;;

-- Some versions of PostgreSQL damage unlogged sequences when a standby is promoted that has not written them to its disk. Empty ones replace them.
DO $snowkey$
BEGIN
	PERFORM pg_sequence_last_value(oid) FROM pg_class WHERE oid IN (to_regclass({current text}), to_regclass({history text}));
EXCEPTION WHEN internal_error THEN
	DROP SEQUENCE IF EXISTS {current}, {history};
END
$snowkey$
;;

-- The counter has a tick in its upper bits and a number in the lower {room bits}. Numbers with none of the bits of {guard} become ids, and a
-- tick with a larger number is full. The counter is the last tick that was entered, on disk before rows with its ids are committed.
CREATE SEQUENCE IF NOT EXISTS {counter} AS bigint CACHE 1
;;
-- Sessions draw from the same tick in the current sequence. The history is a hash that shows whether commits may have been lost since both were
-- last raised above them. A crash, and the promotion of a standby, empty the two sequences, because they are not logged. They may have lost ids then.
CREATE UNLOGGED SEQUENCE IF NOT EXISTS {current} AS bigint CACHE 1
;;
CREATE UNLOGGED SEQUENCE IF NOT EXISTS {history} AS bigint CACHE 1
;;

-- Takes n numbers and returns the first of them, as tick * {ids} + number. Draws them from the current tick if n is 1, and
-- otherwise enters a new tick. mine is a number of a tick that is over, or null.
CREATE OR REPLACE FUNCTION {enter}(n bigint, mine bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $snowkey$
DECLARE
	now bigint;
	began bigint;
	limits bigint;           -- this session may enter ticks below it
	granted bigint;          -- the first number that a process may have been granted
	hash bigint;
	known boolean := true;
	least_tick bigint := 0;
	last bigint;
	first bigint;
	final bigint;
	delay bigint;
	waited bigint := 0;
BEGIN
	-- A limit is only valid for the sequence for which it was found, and only while no other session has raised that above lost
	-- commits. From this look until the transaction ends, DROP SEQUENCE waits.
	IF pg_sequence_last_value({current:}) IS NOT NULL AND split_part(current_setting({setting}, true), '/', 1) = pg_sequence_last_value({history:})::text THEN
		limits := split_part(current_setting({setting}, true), '/', 2)::bigint;
	END IF;
	LOOP
		now := {now};
		IF limits IS NULL OR limits <= (now - {epoch}) / {unit} THEN
			-- Check that the row is still reserved. If it is deleted later, a process that gets the number starts at the end of
			-- the tick that is {ahead} microseconds later, so ids below that are safe. Transactions with a snapshot of their own
			-- lock the row, because they would otherwise read what it was.
			began := now;
			IF current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN
				SELECT GREATEST(l.bound, n.fence), {hash} INTO granted, hash
					FROM {lease} l LEFT JOIN {ns} n ON n.namespace = l.namespace AND n.layout = l.layout
					WHERE l.namespace = {namespace} AND l.layout = {layout} AND l.worker = {worker} AND l.token = {token} AND l.protocol = {protocol};
			ELSE
				SELECT GREATEST(l.bound, n.fence), {hash} INTO granted, hash
					FROM {lease} l LEFT JOIN {ns} n ON n.namespace = l.namespace AND n.layout = l.layout
					WHERE l.namespace = {namespace} AND l.layout = {layout} AND l.worker = {worker} AND l.token = {token} AND l.protocol = {protocol}
					FOR SHARE OF l;
			END IF;
			IF NOT FOUND THEN
				RAISE EXCEPTION 'snowkey: worker number {worker} of namespace % is not reserved for SQL', {namespace}
					USING ERRCODE = '55000', HINT = 'Run the SQL of "snowkey sql" again.';
			END IF;
			limits := (began + {ahead} - {epoch}) / {unit} + 1;
			least_tick := (granted + {ids} - 1) / {ids};
			known := pg_sequence_last_value({history:}) IS NOT DISTINCT FROM hash AND pg_sequence_last_value({counter:}) IS NOT NULL
				AND pg_sequence_last_value({current:}) IS NOT NULL;
			IF NOT known OR mine >> {sequence bits} < least_tick THEN
				mine := NULL;
			END IF;
		END IF;

		-- Ending the block with an error releases the lock, which would otherwise be held until the transaction ends. The
		-- sequences keep their new values.
		BEGIN
			IF mine IS NULL THEN
				PERFORM pg_advisory_xact_lock(1936418169, {key});
			ELSIF NOT pg_try_advisory_xact_lock(1936418169, {key}) THEN
				RAISE EXCEPTION USING ERRCODE = 'SK002'; -- another session is entering the next tick
			END IF;
			now := {now};
			IF NOT known THEN
				-- The raised tick is full. So ids start when a session enters the next one, and has checked the row for it.
				least_tick := GREATEST(least_tick, (now + {ahead} + {skew} - {epoch}) / {unit} + 1);
				last := GREATEST(pg_sequence_last_value({counter:}), pg_sequence_last_value({current:}), (least_tick - 1) << {room}) >> {room} << {room} | {ids};
				PERFORM setval({counter:}, last);
				PERFORM setval({current:}, last);
				PERFORM setval({history:}, hash);
				known := true;
			END IF;
			least_tick := GREATEST(least_tick, (now - {epoch}) / {unit});
			last := pg_sequence_last_value({current:});
			first := NULL;
			IF n = 1 AND last >> {room} >= least_tick AND last & {guard} = 0 THEN
				last := nextval({current:});
				IF last & {guard} = 0 THEN
					first := (last >> {room} << {sequence bits}) | (last & ({ids} - 1));
					final := first;
				END IF;
			END IF;
			IF first IS NULL THEN
				first := GREATEST(least_tick, (GREATEST(last, pg_sequence_last_value({counter:})) >> {room}) + 1);
				first := (first << {sequence bits}) + LEAST(hashint8extended(first, 0) & {spread}, GREATEST({ids} - n, 0));
				final := first + n - 1;
				IF final >> {sequence bits} < LEAST(limits, {last tick} + 1) THEN
					last := (final >> {sequence bits} << {room}) | (final & ({ids} - 1));
					PERFORM setval({counter:}, last);
					PERFORM setval({current:}, last);
				END IF;
			END IF;
			RAISE EXCEPTION USING ERRCODE = 'SK001';
		EXCEPTION
			WHEN SQLSTATE 'SK001' THEN NULL;
			WHEN SQLSTATE 'SK002' THEN
				first := mine;
				final := mine;
		END;

		IF final >> {sequence bits} > {last tick} THEN
			RAISE EXCEPTION 'snowkey: the layout has ended' USING ERRCODE = '22003';
		END IF;
		IF final >> {sequence bits} < limits THEN
			IF began IS NOT NULL THEN
				PERFORM set_config({setting}, hash || '/' || limits, false);
			END IF;
			RETURN first;
		END IF;

		-- The counter is too far ahead of the clock. This is so after a burst, after the clock went back, and when the counter was
		-- raised above what may have been lost.
		mine := NULL;
		IF began IS NOT NULL THEN
			delay := ((final >> {sequence bits}) - limits + 1) * {unit};
			waited := waited + delay;
			IF waited > {patience} THEN
				RAISE EXCEPTION 'snowkey: ids would be % s ahead of the clock', round((delay + {ahead}) / 1000000.0, 1)
					USING ERRCODE = '55000', HINT = 'Correct the clock of the server, insert fewer rows in a statement, or try again later.';
			END IF;
			PERFORM pg_sleep(delay / 1000000.0);
		END IF;
		limits := NULL;
	END LOOP;
END
$snowkey$
;;

-- Returns one id, of the number v if its tick is over, but not for long, and another session is entering the next tick.
CREATE OR REPLACE FUNCTION {enter}(v bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $snowkey$
DECLARE
	now bigint := ({now} - {epoch}) / {unit};
BEGIN
	IF v & {guard} <> 0 OR v >> {room} < now - {stale} OR v >> {room} >= now THEN
		v := NULL;
	ELSE
		v := (v >> {room} << {sequence bits}) | (v & ({ids} - 1));
	END IF;
	v := {enter}(1, v);
	RETURN {fixed} | (v >> {sequence bits} << {time shift}) | ((v & ({ids} - 1)) << {sequence shift});
END
$snowkey$
;;

-- Checks the row. The server calls an IMMUTABLE function without arguments only when it plans an expression. So a session calls this one when it
-- first makes an id, and again if the current sequence or the functions were created again, since that makes plans invalid.
CREATE OR REPLACE FUNCTION {ready}() RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $snowkey$
BEGIN
	PERFORM {enter}(1, NULL);
	RETURN true;
EXCEPTION WHEN internal_error THEN
	RAISE EXCEPTION 'snowkey: %', SQLERRM
		USING ERRCODE = 'XX001', HINT = 'If a promotion has damaged the sequence ("bad magic number"), run the SQL of "snowkey sql" again.';
END
$snowkey$
;;

-- Returns one id. This function names the schema of each function and operator, because a search_path of its own would cost more than all
-- else. A transaction prepares each expression again, so the common way has only two. The call of the slow way is not in them.
CREATE OR REPLACE FUNCTION {next}() RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $snowkey$
DECLARE
	-- Look before drawing. Each session then draws at most one number too many from a tick.
	v bigint := CASE WHEN {ready}() AND pg_catalog.pg_sequence_last_value({current:}) {&} {guard} {=} 0 THEN pg_catalog.nextval({current:}){mark} END;
BEGIN
	-- The tick must not have ended longer than {lag} ago.
	IF v {&} {guard} {=} {marked} AND v::double precision {/} {a second} {+} {newest} {>} pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) THEN
		RETURN {id};
	END IF;
	RETURN {enter}(v{mark});
END
$snowkey$
;;

-- Returns n ids. For many rows this is faster than n calls of {next}().
CREATE OR REPLACE FUNCTION {next}(n bigint) RETURNS SETOF bigint
LANGUAGE plpgsql VOLATILE STRICT ROWS 1000 SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $snowkey$
DECLARE
	first bigint;
BEGIN
	IF n > 0 THEN
		first := {enter}(n, NULL);
		RETURN QUERY SELECT {fixed} | (v >> {sequence bits} << {time shift}) | ((v & ({ids} - 1)) << {sequence shift})
			FROM generate_series(first, first + n - 1) v;
	END IF;
END
$snowkey$
;;

REVOKE ALL ON FUNCTION {enter}(bigint, bigint), {enter}(bigint), {ready}(), {next}(), {next}(bigint) FROM PUBLIC
