-- The statements of a store, for all servers. Each is one transaction. The {words} stand for
-- other parts of this file and of the server's own file, and the @names are parameters.

-- name: tick
-- This and the next four must give the same results as the fields of lease.Limits and
-- Terms.Free.
(({now} - @epoch) {div} @unit * @pertick)
-- name: cap
((({now} + @ahead - @epoch) {div} @unit + 1) * @pertick)
-- name: raised fence
((({now} + @skew + @ahead - @epoch) {div} @unit + 1) * @pertick)
-- name: new fence
(CASE WHEN @unit > 1000000 THEN {tick} ELSE {raised fence} END)
-- name: free
(token = '-' OR expires_at + @skew < {now})

-- name: same protocol
-- We have to check both tables, because a release with another protocol version may have
-- changed either of them.
protocol = {protocol} AND NOT EXISTS (SELECT 1 FROM {ns} n WHERE n.namespace = @namespace AND n.layout = @layout AND n.protocol <> {protocol})

-- name: all
-- Each statement that reads has a LIMIT, because MySQL's sql_select_limit applies to
-- statements without one. This is the limit of those that read all rows.
LIMIT 9223372036854775807

-- name: layouts
-- A layout whose namespace was lost has only rows. Its position is -1.
{to primary}SELECT layout, position FROM {ns} WHERE namespace = @namespace
UNION ALL SELECT DISTINCT layout, -1 FROM {lease} WHERE namespace = @namespace {all}

-- name: namespaces
{to primary}SELECT namespace FROM {ns} UNION SELECT namespace FROM {lease} ORDER BY 1 {all}

-- name: create
-- If two processes saw the same layouts, both of them insert at the same position, so only
-- one insert has an effect.
{write}
INSERT INTO {ns} (namespace, position, layout, fingerprint, fence)
VALUES (@namespace, @position, @layout, {written fingerprint}, {new fence})
{or keep it} {returning now}

-- name: probe
-- The answer has one row for the server, one for the namespace and some lease rows. We
-- don't use a join, because MySQL would need temporary tables for it, and it can't create
-- these for a thousand sessions at the same time.
{read}
SELECT 0 AS part, {now} AS n1, {volatile} AS n2, CASE WHEN {suspect} THEN 1 ELSE 0 END AS n3, {top of range} AS n4, {cluster} AS protocol,
	NULL AS fingerprint, NULL AS current, NULL AS token, NULL AS label
UNION ALL SELECT 1, fence, 0, 0, 0, protocol, fingerprint, {fingerprint}, NULL, NULL FROM {ns} n WHERE namespace = @namespace AND layout = @layout
UNION ALL ({row}) {all}

-- name: top worker
COALESCE((SELECT MAX(worker) FROM {lease} WHERE namespace = @namespace AND layout = @layout AND worker BETWEEN @min AND @max), @last)

-- name: best row
-- The best free row, or a random one if several are equally good.
SELECT 2, worker, revision, bound, expires_at, protocol, NULL, NULL, token, label FROM {lease}
	WHERE namespace = @namespace AND layout = @layout AND worker BETWEEN @min AND @max AND {free}
	ORDER BY CASE WHEN bound >= {cap} THEN 4 WHEN worker = @prefer_worker THEN 0 WHEN label = @prefer_label THEN 1 WHEN bound <= {tick} THEN 2 ELSE 3 END, {shuffled} LIMIT 1

-- name: near row
-- Some free rows among a few adjacent ones at a random place. This means that if a thousand
-- processes start together, they rarely try the same row, and none of them has to read all
-- rows. It ignores expired leases. We name the table only once, because a server opens it
-- for each name in each of a thousand connections. To choose the best one in SQL takes a new
-- session of PostgreSQL 1.7 million instructions.
SELECT 2, worker, revision, bound, expires_at, protocol, NULL, NULL, token, label FROM {lease}
	WHERE namespace = @namespace AND layout = @layout AND worker BETWEEN @near AND @far AND token = '-' LIMIT 8

-- name: shuffled
-- A random order based on two random numbers and a prime. We can't use ORDER BY RAND(),
-- because MySQL creates a temporary table for it, and we can't use %, because MariaDB
-- doesn't have this operator in its Oracle mode.
(worker * @factor + @offset - (worker * @factor + @offset) {div} 1048573 * 1048573)

-- name: next
-- Because expires_at is 0 in a free row, the first row in this order is a free one if there
-- is any. Otherwise it's the row that becomes free first. Waiting processes run this
-- statement often, so there is an index for it.
{read}
SELECT worker, token, revision, bound, expires_at, label, {now} FROM {lease}
WHERE namespace = @namespace AND layout = @layout AND worker BETWEEN @min AND @max
ORDER BY expires_at LIMIT 1

-- name: fence
{write}
UPDATE {ns} SET fence = GREATEST(fence, {raised fence}), fingerprint = {written fingerprint}
WHERE namespace = @namespace AND layout = @layout AND protocol = {protocol} AND (@any_fingerprint = 1 OR fingerprint = @seen_fingerprint)
{returning now}

-- name: add
-- If the namespace does not exist yet, a row of a coarse layout has to start in the current
-- tick, because that's where the namespace will start.
{write}
INSERT INTO {lease} (namespace, layout, worker, token, revision, bound, expires_at, label)
SELECT @namespace, @layout, numbers.n, '-', 0,
	CASE WHEN @unit > 1000000 AND NOT EXISTS (SELECT 1 FROM {ns} n WHERE n.namespace = @namespace AND n.layout = @layout) THEN {tick} ELSE {raised fence} END,
	0, '-'
FROM (WITH RECURSIVE digit (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM digit WHERE n < 31)
	SELECT @min + 32 * d.n + e.n AS n FROM digit d CROSS JOIN digit e) numbers
WHERE numbers.n <= @max
{or keep it} {returning now}

-- name: claim
-- MySQL assigns from left to right, so we must not read a column after assigning it.
{write}
UPDATE {lease} SET bound = GREATEST(bound, LEAST(@wanted, {cap})),
	token = @token, revision = revision + 1, expires_at = {answer now} + @ttl, label = @label
WHERE namespace = @namespace AND layout = @layout AND worker = @worker AND token = @seen_token AND revision = @revision AND bound = @bound
AND protocol = {protocol} AND {free} AND (@volatile = 1 OR {volatile} = 0)
AND EXISTS (SELECT 1 FROM {ns} n WHERE n.namespace = @namespace AND n.layout = @layout AND n.protocol = {protocol} AND n.fence = @fence AND n.fingerprint = {fingerprint})
{returning now}

-- name: renew
{write}
UPDATE {lease} SET bound = GREATEST(bound, LEAST(@wanted, {cap})),
	token = @token, revision = revision + 1, expires_at = {answer now} + @ttl
WHERE namespace = @namespace AND layout = @layout AND worker = @worker AND token = @seen_token AND revision = @revision
AND {same protocol} AND token <> '-' AND expires_at >= {now} AND (@volatile = 1 OR {volatile} = 0)
{returning now}

-- name: release
{write}
UPDATE {lease} SET bound = LEAST(bound, @unused),
	token = '-', revision = revision + 1, expires_at = 0 * {answer now}
WHERE namespace = @namespace AND layout = @layout AND worker = @worker AND token = @seen_token AND revision = @revision
AND {same protocol}
{returning now}

-- name: rows
{read}
SELECT worker, token, revision, bound, expires_at, label, {now} FROM {lease}
WHERE namespace = @namespace AND layout = @layout AND worker BETWEEN @min AND @max ORDER BY worker {all}

-- name: unknown 2: fingerprint
-- If there's nothing by which we could recognize the server, each new lease holds off, as
-- if the server could lose commits at any time.
'unknown'
-- name: unknown 2: written fingerprint
'unknown'
-- name: unknown 2: volatile
1
-- name: unknown 3: suspect
1 = 0
