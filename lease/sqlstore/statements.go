package sqlstore

// The statements, for all dialects: {words} are the dialect's, @names are
// parameters. Each runs by itself, outside any transaction, but for the two of
// Bear.
const (
	// These are the methods of lease.Terms.
	counterWord  = "(({now} - @epoch) {div} @unit * @pertick)"
	capWord      = "((({now} + @ahead - @epoch) {div} @unit + 1) * @pertick)"
	beyondWord   = "((({now} + @skew + @ahead - @epoch) {div} @unit + 1) * @pertick)"
	foundingWord = "(CASE WHEN @unit > 1000000 THEN {counter} ELSE {beyond} END)"
	freeWord     = "(token = '' OR expires_at + @skew < {now})"

	// look fails if a table is missing.
	lookText = `SELECT COUNT(*) FROM {ns}, {lease} WHERE 1 = 0`

	layoutsText = `SELECT layout FROM {ns} WHERE namespace = @namespace
UNION SELECT layout FROM {lease} WHERE namespace = @namespace`

	leftText = `SELECT COALESCE(MAX(worker) + 1, 0) FROM {lease} WHERE namespace = @namespace AND layout = @layout`

	// Two that see the same number of layouts add the same position.
	foundText = `{here}INSERT INTO {ns} (namespace, position, layout, fingerprint, fence, born)
VALUES (@namespace, @seen, @layout, {fingerprint}, {founding}, @born)
{or keep it}`

	probeText = `{here}SELECT n.fence, n.born, n.fingerprint, {fingerprint}, {volatile}, {now},
	l.worker, l.token, l.revision, l.bound, l.expires_at, l.label
FROM (SELECT 1 AS one) AS always
LEFT JOIN {ns} AS n ON n.namespace = @namespace AND n.layout = @layout
LEFT JOIN (
	SELECT worker, token, revision, bound, expires_at, label FROM {lease}
	WHERE namespace = @namespace AND layout = @layout AND worker BETWEEN @min AND @max AND {free}
	ORDER BY CASE WHEN bound >= {cap} THEN 3 WHEN label = @prefer AND label <> '' THEN 0 WHEN bound <= {counter} THEN 1 ELSE 2 END, {random}
	LIMIT 1) AS l ON 1 = 1`

	fenceText = `{here}UPDATE {ns} SET fence = {greatest}(fence, {beyond}), fingerprint = {fingerprint}
WHERE namespace = @namespace AND layout = @layout AND (@seen = '' OR fingerprint = @seen)`

	countText = `{here}UPDATE {ns} SET born = {answer born} + 1
WHERE namespace = @namespace AND layout = @layout AND born <= @max
{returning born}`

	// It reads the time, because PostgreSQL runs nothing of {here} if nobody does,
	// and the commit would not wait for the disk.
	bearText = `{here}INSERT INTO {lease} (namespace, layout, worker, token, revision, bound, expires_at, label)
VALUES (@namespace, @layout, @worker, '', 0, 0, {now}, '')
{or keep it}`

	replaceText = `{here}INSERT INTO {lease} (namespace, layout, worker, token, revision, bound, expires_at, label)
VALUES (@namespace, @layout, @worker, '', 0, {cap}, 0, '')
{or keep it}`

	// MySQL assigns from left to right: no column is read behind its assignment.
	claimText = `{here}UPDATE {lease} SET bound = {greatest}(bound, {least}(@wanted, {cap})),
	token = @token, revision = revision + 1, expires_at = {answer now} + @ttl, label = @label
WHERE namespace = @namespace AND layout = @layout AND worker = @worker AND token = @seen AND revision = @revision AND bound = @bound
AND {free}
AND EXISTS (SELECT 1 FROM {ns} AS n WHERE n.namespace = @namespace AND n.layout = @layout AND n.born > @worker AND n.fence = @fence AND n.fingerprint = {fingerprint})
{returning now}`

	renewText = `{here}UPDATE {lease} SET bound = {greatest}(bound, {least}(@wanted, {cap})),
	token = @token, revision = revision + 1, expires_at = {answer now} + @ttl
WHERE namespace = @namespace AND layout = @layout AND worker = @worker AND token = @seen AND revision = @revision
AND token <> '' AND expires_at >= {now}
{returning now}`

	releaseText = `{here}UPDATE {lease} SET bound = {least}(bound, @unused),
	token = '', revision = revision + 1, expires_at = {answer now}
WHERE namespace = @namespace AND layout = @layout AND worker = @worker AND token = @seen AND revision = @revision
{returning now}`

	rowsText = `{here}SELECT worker, token, revision, bound, expires_at, label, {now} FROM {lease}
WHERE namespace = @namespace AND layout = @layout AND worker BETWEEN @min AND @max ORDER BY worker`
)
