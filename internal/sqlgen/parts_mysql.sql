	SET who = (SELECT layout FROM (SELECT layout FROM {ns} WHERE namespace = {namespace} UNION SELECT layout FROM {lease} WHERE namespace = {namespace}) l
		WHERE layout <> {layout} LIMIT 1);
	IF who IS NOT NULL THEN
		SET who = LEFT(CONCAT('snowkey: the namespace has another layout: ', who), 128);
		SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = who;
	END IF;
	SET who = (SELECT CONCAT('worker number ', worker, ' of namespace ', namespace) FROM {lease}
		WHERE token = {token} AND (namespace <> {namespace} OR layout <> {layout} OR worker <> {worker}) LIMIT 1);
	IF who IS NOT NULL THEN
		SET who = LEFT(CONCAT('snowkey: the function already makes ids with ', who, '; use another --name'), 128);
		SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = who;
	END IF;

	INSERT INTO {lease} (namespace, layout, worker, token, revision, bound, expires_at, label)
		VALUES ({namespace}, {layout}, {worker}, {token}, 0, free, {never}, 'SQL')
		ON DUPLICATE KEY UPDATE namespace = {namespace};
	UPDATE {lease} SET token = {token}, revision = revision + 1, expires_at = {never}, label = 'SQL'
		WHERE namespace = {namespace} AND layout = {layout} AND worker = {worker} AND protocol = {protocol}
		AND token <> {token} AND (token = '-' OR expires_at + {skew} < now);
	SET who = (SELECT label FROM {lease}
		WHERE namespace = {namespace} AND layout = {layout} AND worker = {worker} AND (token <> {token} OR protocol <> {protocol}));
	IF who IS NOT NULL THEN
		SET who = LEFT(CONCAT('snowkey: worker number {worker} is leased by ', who, '; stop it, or use another --worker'), 128);
		SIGNAL SQLSTATE '55006' SET MESSAGE_TEXT = who;
	END IF;

	-- Processes only add many rows above the ones that exist, so this adds the first ones.
	INSERT IGNORE INTO {lease} (namespace, layout, worker, token, revision, bound, expires_at, label)
		{with digits}
		SELECT {namespace}, {layout}, a.i * 32 + b.i, '-', 0, free, 0, '-' FROM d a, d b WHERE a.i * 32 + b.i < {worker};
;;
		IF tick > {last tick} THEN
			SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = 'snowkey: the layout has ended';
		END IF;
		IF tick < limits THEN
			LEAVE take;
		END IF;

		-- The counter is too far ahead of the clock. This is so after a burst, after the clock went back, and when the counter was
		-- raised above what may have been lost.
		IF began > 0 THEN
			SET delay = (tick - limits + 1) * {unit}, waited = waited + delay;
			IF waited > {patience} THEN
				SET problem = CONCAT('snowkey: ids would be ', ROUND((delay + {ahead}) / 1000000, 1), ' s ahead of the clock; correct the clock, or try again later');
				SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = problem;
			END IF;
			DO SLEEP(delay / 1000000);
		END IF;
		SET limits = NULL;
