package sqlstore

// The statements, for all dialects: {words} are the dialect's, @names are
// parameters. Each runs by itself, outside any transaction.
const (
	// cap and counter are Terms.Cap and Terms.Counter.
	capWord     = "((({now} + @ahead - @epoch) {div} @unit + 1) * @pertick)"
	counterWord = "(({now} - @epoch) {div} @unit * @pertick)"

	// look fails if a table is missing.
	lookText = `SELECT COUNT(*) FROM {ns}, {lease} WHERE 1 = 0`

	foundText = `{here}INSERT INTO {ns} (namespace, layout, fingerprint, fence)
VALUES (@namespace, @layout, {fingerprint}, {cap})
{or keep it}`

	// The last column is a number without a row: a random one or, if that has a
	// row, the next that has none, from the least on again if need be. Gaps begin
	// behind a row, or at the least number.
	probeText = `{here}SELECT n.layout, n.fence, n.fingerprint, {fingerprint}, {volatile}, {now},
	l.worker, l.token, l.revision, l.bound, l.expires_at, l.label,
	(SELECT CASE WHEN @random BETWEEN gap.low AND gap.high THEN @random ELSE gap.low END
		FROM (SELECT worker + 1 AS low, COALESCE(LEAD(worker) OVER (ORDER BY worker), @max + 1) - 1 AS high
			FROM (SELECT @min - 1 AS worker UNION ALL
				SELECT worker FROM {lease} WHERE namespace = @namespace AND worker BETWEEN @min AND @max) AS taken) AS gap
		WHERE gap.low <= gap.high
		ORDER BY CASE WHEN gap.high < @random THEN 1 ELSE 0 END, gap.low LIMIT 1)
FROM (SELECT 1 AS one) AS always
LEFT JOIN {ns} AS n ON n.namespace = @namespace
LEFT JOIN (
	SELECT worker, token, revision, bound, expires_at, label FROM {lease}
	WHERE namespace = @namespace AND worker BETWEEN @min AND @max AND (token = '' OR expires_at < {now})
	ORDER BY CASE WHEN label = @prefer AND label <> '' THEN 0 WHEN bound <= {counter} THEN 1 ELSE 2 END, {random}
	LIMIT 1) AS l ON 1 = 1`

	fenceText = `{here}UPDATE {ns} SET fence = {greatest}(fence, {cap}), fingerprint = {fingerprint}
WHERE namespace = @namespace AND (@seen = '' OR fingerprint = @seen)`

	bearText = `{here}INSERT INTO {lease} (namespace, worker, token, revision, bound, expires_at, label)
VALUES (@namespace, @worker, '', 0, {cap}, 0, '')
{or keep it}`

	// MySQL assigns from left to right: no column is read behind its assignment.
	claimText = `{here}UPDATE {lease} SET bound = {greatest}(bound, {least}(@wanted, {cap})),
	token = @token, revision = revision + 1, expires_at = {stamp} + @ttl, label = @label
WHERE namespace = @namespace AND worker = @worker AND token = @seen AND revision = @revision
AND (token = '' OR expires_at < {now})
AND EXISTS (SELECT 1 FROM {ns} AS n WHERE n.namespace = @namespace AND n.layout = @layout AND n.fence = @fence AND n.fingerprint = {fingerprint})
{returning}`

	renewText = `{here}UPDATE {lease} SET bound = {greatest}(bound, {least}(@wanted, {cap})),
	token = @token, revision = revision + 1, expires_at = {stamp} + @ttl
WHERE namespace = @namespace AND worker = @worker AND token = @seen AND revision = @revision
AND token <> '' AND expires_at >= {now}
{returning}`

	releaseText = `{here}UPDATE {lease} SET bound = {least}(bound, @unused),
	token = '', revision = revision + 1, expires_at = {stamp}
WHERE namespace = @namespace AND worker = @worker AND token = @seen AND revision = @revision
{returning}`

	rowsText = `{here}SELECT worker, token, revision, bound, expires_at, label, {now} FROM {lease}
WHERE namespace = @namespace AND worker BETWEEN @min AND @max ORDER BY worker`
)
