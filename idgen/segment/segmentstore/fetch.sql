-- The statements that read and raise the bound. {table} stands for the table, @min, @limit and
-- @span for the fields of segment.Fetch, and @end for the bound of a new name. @limit may be
-- the largest integer, so no expression may exceed it.
--
-- The answer is the start of the segment. There is none, or on MySQL -1, if the row has
-- another protocol version. If there are no numbers left, there is none either, or it is at
-- least the limit.

-- name: postgres
{begin})
INSERT INTO {table} AS segment (name, start, bound) SELECT @name, @min, @end FROM here
ON CONFLICT (name) DO UPDATE SET
	start = GREATEST(segment.bound, @min),
	bound = GREATEST(segment.bound, @min) + LEAST(@span, @limit - GREATEST(segment.bound, @min))
WHERE GREATEST(segment.bound, @min) < @limit AND segment.protocol = {protocol}
RETURNING start

-- name: mysql
-- MySQL assigns from left to right, so we must not read a column after assigning it. Only
-- MariaDB executes the comment. MySQL has no way to limit the wait for a row in a single
-- statement.
/*M! SET STATEMENT innodb_lock_wait_timeout = @seconds FOR */ INSERT INTO {table} (name, start, bound) VALUES (@name, LAST_INSERT_ID(@min), @end)
ON DUPLICATE KEY UPDATE
	start = IF(protocol = {protocol}, LAST_INSERT_ID(GREATEST(bound, @min)), start + 0 * LAST_INSERT_ID(-1)),
	bound = IF(protocol = {protocol}, GREATEST(bound, @min) + GREATEST(LEAST(@span, @limit - GREATEST(bound, @min)), 0), bound)

-- name: sqlite
INSERT INTO {table} (name, start, bound) VALUES (@name, @min, @end)
ON CONFLICT (name) DO UPDATE SET
	start = MAX(bound, @min),
	bound = MAX(bound, @min) + MIN(@span, @limit - MAX(bound, @min))
WHERE MAX(bound, @min) < @limit AND protocol = {protocol}
RETURNING start
