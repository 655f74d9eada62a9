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
$snowkey$;

-- This is one statement with a lock, because CREATE TABLE IF NOT EXISTS fails if two
-- sessions create the same table at the same time. The number of the lock is "snowkey"
-- in ASCII.
DO $$
BEGIN
	PERFORM pg_advisory_xact_lock(x'736e6f776b6579'::bigint);

	CREATE TABLE IF NOT EXISTS "public"."snowkey_lease_ns" (
		namespace   text COLLATE "C" NOT NULL,
		position    bigint NOT NULL,
		layout      text COLLATE "C" NOT NULL,
		fingerprint text COLLATE "C" NOT NULL,
		fence       bigint NOT NULL,
		protocol    bigint NOT NULL DEFAULT 2, -- of Snowkey, not of the application
		PRIMARY KEY (namespace, position),
		UNIQUE (namespace, layout)
	);

	CREATE TABLE IF NOT EXISTS "public"."snowkey_lease" (
		namespace  text COLLATE "C" NOT NULL,
		layout     text COLLATE "C" NOT NULL,
		worker     bigint NOT NULL,
		token      text COLLATE "C" NOT NULL, -- '-' if the row is free
		revision   bigint NOT NULL,
		bound      bigint NOT NULL,
		expires_at bigint NOT NULL, -- microseconds since 1970; 0 if the row is free
		label      text COLLATE "C" NOT NULL,
		protocol   bigint NOT NULL DEFAULT 2,
		PRIMARY KEY (namespace, layout, worker)
	) WITH (fillfactor = 50);

	-- Processes that wait for a worker number read the row that becomes free next.
	CREATE INDEX IF NOT EXISTS "snowkey_lease_expires" ON "public"."snowkey_lease" (namespace, layout, expires_at);
END
$$;

-- Worker number 1023 is reserved for SQL, so that no process can lease it.
DO $snowkey$
DECLARE
	now bigint := floor(date_part('epoch', clock_timestamp()) * 1000000)::bigint;
	free bigint := ((now + 11000000 - 1735689600000000) / 1000 + 1) * 4096; -- the bound of a new row
	who text;
BEGIN
	PERFORM (SELECT system_identifier FROM pg_control_system()); -- the functions need it
	PERFORM set_config('synchronous_commit', 'on', true); -- sessions must not see a reservation that a crash can undo
	SELECT layout INTO who FROM (SELECT layout FROM "public"."snowkey_lease_ns" WHERE namespace = 'default' UNION SELECT layout FROM "public"."snowkey_lease" WHERE namespace = 'default') l
		WHERE layout <>  E'0:1 \\u2502 time:41 \\u00d7 1ms since 2025-01-01T00:00:00Z \\u2502 worker:10 \\u2502 sequence:12' LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'snowkey: namespace % has another layout: %', 'default', who
			USING ERRCODE = '55000', HINT = 'Print this SQL again with that layout, or with another namespace.';
	END IF;
	SELECT format('worker number %s of namespace %s', worker, namespace) INTO who FROM "public"."snowkey_lease"
		WHERE token = 'sql:public.snowkey_next' AND (namespace, layout, worker) <> ('default',  E'0:1 \\u2502 time:41 \\u00d7 1ms since 2025-01-01T00:00:00Z \\u2502 worker:10 \\u2502 sequence:12', 1023) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'snowkey: the function % already makes ids with %', 'public.snowkey_next', who
			USING ERRCODE = '55000', HINT = 'Print this SQL again with another --name.';
	END IF;

	INSERT INTO "public"."snowkey_lease" (namespace, layout, worker, token, revision, bound, expires_at, label)
		VALUES ('default',  E'0:1 \\u2502 time:41 \\u00d7 1ms since 2025-01-01T00:00:00Z \\u2502 worker:10 \\u2502 sequence:12', 1023, 'sql:public.snowkey_next', 0, free, 7258118400000000, 'SQL')
		ON CONFLICT DO NOTHING;
	UPDATE "public"."snowkey_lease" SET token = 'sql:public.snowkey_next', revision = revision + 1, expires_at = 7258118400000000, label = 'SQL'
		WHERE namespace = 'default' AND layout =  E'0:1 \\u2502 time:41 \\u00d7 1ms since 2025-01-01T00:00:00Z \\u2502 worker:10 \\u2502 sequence:12' AND worker = 1023 AND protocol = 2
		AND token <> 'sql:public.snowkey_next' AND (token = '-' OR expires_at + 1000000 < now);
	SELECT label INTO who FROM "public"."snowkey_lease"
		WHERE namespace = 'default' AND layout =  E'0:1 \\u2502 time:41 \\u00d7 1ms since 2025-01-01T00:00:00Z \\u2502 worker:10 \\u2502 sequence:12' AND worker = 1023 AND (token <> 'sql:public.snowkey_next' OR protocol <> 2);
	IF FOUND THEN
		RAISE EXCEPTION 'snowkey: worker number 1023 of namespace % is leased by %', 'default', who
			USING ERRCODE = '55006', HINT = 'Stop that process, or print this SQL again with another --worker.';
	END IF;

	-- Processes only add many rows above the ones that exist, so this adds the first ones.
	INSERT INTO "public"."snowkey_lease" (namespace, layout, worker, token, revision, bound, expires_at, label)
		SELECT 'default',  E'0:1 \\u2502 time:41 \\u00d7 1ms since 2025-01-01T00:00:00Z \\u2502 worker:10 \\u2502 sequence:12', w, '-', 0, free, 0, '-' FROM generate_series(0, LEAST(1023, 1024) - 1) w
		ON CONFLICT DO NOTHING;
END
$snowkey$;

-- Some versions of PostgreSQL damage unlogged sequences when a standby is promoted that has not written them to its disk. Empty ones replace them.
DO $snowkey$
BEGIN
	PERFORM pg_sequence_last_value(oid) FROM pg_class WHERE oid IN (to_regclass('"public"."snowkey_next_current"'), to_regclass('"public"."snowkey_next_history"'));
EXCEPTION WHEN internal_error THEN
	DROP SEQUENCE IF EXISTS "public"."snowkey_next_current", "public"."snowkey_next_history";
END
$snowkey$;

-- The counter has a tick in its upper bits and a number in the lower 22 bits. Numbers with none of the bits of 4190208 become ids, and a
-- tick with a larger number is full. The counter is the last tick that was entered, on disk before rows with its ids are committed.
CREATE SEQUENCE IF NOT EXISTS "public"."snowkey_next_counter" AS bigint CACHE 1;

-- Sessions draw from the same tick in the current sequence. The history is a hash that shows whether commits may have been lost since both were
-- last raised above them. A crash, and the promotion of a standby, empty the two sequences, because they are not logged. They may have lost ids then.
CREATE UNLOGGED SEQUENCE IF NOT EXISTS "public"."snowkey_next_current" AS bigint CACHE 1;

CREATE UNLOGGED SEQUENCE IF NOT EXISTS "public"."snowkey_next_history" AS bigint CACHE 1;

-- Takes n numbers and returns the first of them, as tick * 4096 + number. Draws them from the current tick if n is 1, and
-- otherwise enters a new tick. mine is a number of a tick that is over, or null.
CREATE OR REPLACE FUNCTION "public"."snowkey_next_enter"(n bigint, mine bigint) RETURNS bigint
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
	IF pg_sequence_last_value('"public"."snowkey_next_current"'::pg_catalog.regclass) IS NOT NULL AND split_part(current_setting('snowkey.limit_' || '"public"."snowkey_next_current"'::pg_catalog.regclass::oid, true), '/', 1) = pg_sequence_last_value('"public"."snowkey_next_history"'::pg_catalog.regclass)::text THEN
		limits := split_part(current_setting('snowkey.limit_' || '"public"."snowkey_next_current"'::pg_catalog.regclass::oid, true), '/', 2)::bigint;
	END IF;
	LOOP
		now := floor(date_part('epoch', clock_timestamp()) * 1000000)::bigint;
		IF limits IS NULL OR limits <= (now - 1735689600000000) / 1000 THEN
			-- Check that the row is still reserved. If it is deleted later, a process that gets the number starts at the end of
			-- the tick that is 11000000 microseconds later, so ids below that are safe. Transactions with a snapshot of their own
			-- lock the row, because they would otherwise read what it was.
			began := now;
			IF current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN
				SELECT GREATEST(l.bound, n.fence), hashtextextended(concat_ws('/', (SELECT system_identifier FROM pg_control_system()), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), '"public"."snowkey_lease"'::pg_catalog.regclass::oid, pg_relation_filenode('"public"."snowkey_lease"'::pg_catalog.regclass), l.xmin, '"public"."snowkey_next_current"'::pg_catalog.regclass::oid), 0) & 9223372036854775807 | 1 INTO granted, hash
					FROM "public"."snowkey_lease" l LEFT JOIN "public"."snowkey_lease_ns" n ON n.namespace = l.namespace AND n.layout = l.layout
					WHERE l.namespace = 'default' AND l.layout =  E'0:1 \\u2502 time:41 \\u00d7 1ms since 2025-01-01T00:00:00Z \\u2502 worker:10 \\u2502 sequence:12' AND l.worker = 1023 AND l.token = 'sql:public.snowkey_next' AND l.protocol = 2;
			ELSE
				SELECT GREATEST(l.bound, n.fence), hashtextextended(concat_ws('/', (SELECT system_identifier FROM pg_control_system()), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), '"public"."snowkey_lease"'::pg_catalog.regclass::oid, pg_relation_filenode('"public"."snowkey_lease"'::pg_catalog.regclass), l.xmin, '"public"."snowkey_next_current"'::pg_catalog.regclass::oid), 0) & 9223372036854775807 | 1 INTO granted, hash
					FROM "public"."snowkey_lease" l LEFT JOIN "public"."snowkey_lease_ns" n ON n.namespace = l.namespace AND n.layout = l.layout
					WHERE l.namespace = 'default' AND l.layout =  E'0:1 \\u2502 time:41 \\u00d7 1ms since 2025-01-01T00:00:00Z \\u2502 worker:10 \\u2502 sequence:12' AND l.worker = 1023 AND l.token = 'sql:public.snowkey_next' AND l.protocol = 2
					FOR SHARE OF l;
			END IF;
			IF NOT FOUND THEN
				RAISE EXCEPTION 'snowkey: worker number 1023 of namespace % is not reserved for SQL', 'default'
					USING ERRCODE = '55000', HINT = 'Run the SQL of "snowkey sql" again.';
			END IF;
			limits := (began + 11000000 - 1735689600000000) / 1000 + 1;
			least_tick := (granted + 4096 - 1) / 4096;
			known := pg_sequence_last_value('"public"."snowkey_next_history"'::pg_catalog.regclass) IS NOT DISTINCT FROM hash AND pg_sequence_last_value('"public"."snowkey_next_counter"'::pg_catalog.regclass) IS NOT NULL
				AND pg_sequence_last_value('"public"."snowkey_next_current"'::pg_catalog.regclass) IS NOT NULL;
			IF NOT known OR mine >> 12 < least_tick THEN
				mine := NULL;
			END IF;
		END IF;

		-- Ending the block with an error releases the lock, which would otherwise be held until the transaction ends. The
		-- sequences keep their new values.
		BEGIN
			IF mine IS NULL THEN
				PERFORM pg_advisory_xact_lock(1936418169, -338360284);
			ELSIF NOT pg_try_advisory_xact_lock(1936418169, -338360284) THEN
				RAISE EXCEPTION USING ERRCODE = 'SK002'; -- another session is entering the next tick
			END IF;
			now := floor(date_part('epoch', clock_timestamp()) * 1000000)::bigint;
			IF NOT known THEN
				-- The raised tick is full. So ids start when a session enters the next one, and has checked the row for it.
				least_tick := GREATEST(least_tick, (now + 11000000 + 1000000 - 1735689600000000) / 1000 + 1);
				last := GREATEST(pg_sequence_last_value('"public"."snowkey_next_counter"'::pg_catalog.regclass), pg_sequence_last_value('"public"."snowkey_next_current"'::pg_catalog.regclass), (least_tick - 1) << 22) >> 22 << 22 | 4096;
				PERFORM setval('"public"."snowkey_next_counter"'::pg_catalog.regclass, last);
				PERFORM setval('"public"."snowkey_next_current"'::pg_catalog.regclass, last);
				PERFORM setval('"public"."snowkey_next_history"'::pg_catalog.regclass, hash);
				known := true;
			END IF;
			least_tick := GREATEST(least_tick, (now - 1735689600000000) / 1000);
			last := pg_sequence_last_value('"public"."snowkey_next_current"'::pg_catalog.regclass);
			first := NULL;
			IF n = 1 AND last >> 22 >= least_tick AND last & 4190208 = 0 THEN
				last := nextval('"public"."snowkey_next_current"'::pg_catalog.regclass);
				IF last & 4190208 = 0 THEN
					first := (last >> 22 << 12) | (last & (4096 - 1));
					final := first;
				END IF;
			END IF;
			IF first IS NULL THEN
				first := GREATEST(least_tick, (GREATEST(last, pg_sequence_last_value('"public"."snowkey_next_counter"'::pg_catalog.regclass)) >> 22) + 1);
				first := (first << 12) + LEAST(hashint8extended(first, 0) & 4095, GREATEST(4096 - n, 0));
				final := first + n - 1;
				IF final >> 12 < LEAST(limits, 2199023255551 + 1) THEN
					last := (final >> 12 << 22) | (final & (4096 - 1));
					PERFORM setval('"public"."snowkey_next_counter"'::pg_catalog.regclass, last);
					PERFORM setval('"public"."snowkey_next_current"'::pg_catalog.regclass, last);
				END IF;
			END IF;
			RAISE EXCEPTION USING ERRCODE = 'SK001';
		EXCEPTION
			WHEN SQLSTATE 'SK001' THEN NULL;
			WHEN SQLSTATE 'SK002' THEN
				first := mine;
				final := mine;
		END;

		IF final >> 12 > 2199023255551 THEN
			RAISE EXCEPTION 'snowkey: the layout has ended' USING ERRCODE = '22003';
		END IF;
		IF final >> 12 < limits THEN
			IF began IS NOT NULL THEN
				PERFORM set_config('snowkey.limit_' || '"public"."snowkey_next_current"'::pg_catalog.regclass::oid, hash || '/' || limits, false);
			END IF;
			RETURN first;
		END IF;

		-- The counter is too far ahead of the clock. This is so after a burst, after the clock went back, and when the counter was
		-- raised above what may have been lost.
		mine := NULL;
		IF began IS NOT NULL THEN
			delay := ((final >> 12) - limits + 1) * 1000;
			waited := waited + delay;
			IF waited > 10000000 THEN
				RAISE EXCEPTION 'snowkey: ids would be % s ahead of the clock', round((delay + 11000000) / 1000000.0, 1)
					USING ERRCODE = '55000', HINT = 'Correct the clock of the server, insert fewer rows in a statement, or try again later.';
			END IF;
			PERFORM pg_sleep(delay / 1000000.0);
		END IF;
		limits := NULL;
	END LOOP;
END
$snowkey$;

-- Returns one id, of the number v if its tick is over, but not for long, and another session is entering the next tick.
CREATE OR REPLACE FUNCTION "public"."snowkey_next_enter"(v bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $snowkey$
DECLARE
	now bigint := (floor(date_part('epoch', clock_timestamp()) * 1000000)::bigint - 1735689600000000) / 1000;
BEGIN
	IF v & 4190208 <> 0 OR v >> 22 < now - 1000 OR v >> 22 >= now THEN
		v := NULL;
	ELSE
		v := (v >> 22 << 12) | (v & (4096 - 1));
	END IF;
	v := "public"."snowkey_next_enter"(1, v);
	RETURN 4190208 | (v >> 12 << 22) | ((v & (4096 - 1)) << 0);
END
$snowkey$;

-- Checks the row. The server calls an IMMUTABLE function without arguments only when it plans an expression. So a session calls this one when it
-- first makes an id, and again if the current sequence or the functions were created again, since that makes plans invalid.
CREATE OR REPLACE FUNCTION "public"."snowkey_next_ready"() RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $snowkey$
BEGIN
	PERFORM "public"."snowkey_next_enter"(1, NULL);
	RETURN true;
EXCEPTION WHEN internal_error THEN
	RAISE EXCEPTION 'snowkey: %', SQLERRM
		USING ERRCODE = 'XX001', HINT = 'If a promotion has damaged the sequence ("bad magic number"), run the SQL of "snowkey sql" again.';
END
$snowkey$;

-- Returns one id. This function names the schema of each function and operator, because a search_path of its own would cost more than all
-- else. A transaction prepares each expression again, so the common way has only two. The call of the slow way is not in them.
CREATE OR REPLACE FUNCTION "public"."snowkey_next"() RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $snowkey$
DECLARE
	-- Look before drawing. Each session then draws at most one number too many from a tick.
	v bigint := CASE WHEN "public"."snowkey_next_ready"() AND pg_catalog.pg_sequence_last_value('"public"."snowkey_next_current"'::pg_catalog.regclass) OPERATOR(pg_catalog.&) 4190208 OPERATOR(pg_catalog.=) 0 THEN pg_catalog.nextval('"public"."snowkey_next_current"'::pg_catalog.regclass) OPERATOR(pg_catalog.#) 4190208 END;
BEGIN
	-- The tick must not have ended longer than 50ms ago.
	IF v OPERATOR(pg_catalog.&) 4190208 OPERATOR(pg_catalog.=) 4190208 AND v::double precision OPERATOR(pg_catalog./) '4194304000'::double precision OPERATOR(pg_catalog.+) '1735689600.050001'::double precision OPERATOR(pg_catalog.>) pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) THEN
		RETURN v;
	END IF;
	RETURN "public"."snowkey_next_enter"(v OPERATOR(pg_catalog.#) 4190208);
END
$snowkey$;

-- Returns n ids. For many rows this is faster than n calls of "public"."snowkey_next"().
CREATE OR REPLACE FUNCTION "public"."snowkey_next"(n bigint) RETURNS SETOF bigint
LANGUAGE plpgsql VOLATILE STRICT ROWS 1000 SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $snowkey$
DECLARE
	first bigint;
BEGIN
	IF n > 0 THEN
		first := "public"."snowkey_next_enter"(n, NULL);
		RETURN QUERY SELECT 4190208 | (v >> 12 << 22) | ((v & (4096 - 1)) << 0)
			FROM generate_series(first, first + n - 1) v;
	END IF;
END
$snowkey$;

REVOKE ALL ON FUNCTION "public"."snowkey_next_enter"(bigint, bigint), "public"."snowkey_next_enter"(bigint), "public"."snowkey_next_ready"(), "public"."snowkey_next"(), "public"."snowkey_next"(bigint) FROM PUBLIC;
