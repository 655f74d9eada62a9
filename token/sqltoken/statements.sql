-- The statements of the methods, for each dialect. {table} stands for the table. Those of user and
-- sessions also return whether autocommit is on.

-- On PostgreSQL, a write returns the number of rows that it changed. It always returns a row.
-- Otherwise package sqlsession would not find out that the connection is in a transaction with
-- an old snapshot, in which the statement finds no row to delete. Each write reads the row of
-- here first, which limits the wait for a lock.

-- name: postgres: add
{begin}),
changed AS (INSERT INTO {table} (id, user_id, hash, seen, expires) VALUES (@id, @user, @hash, @seen, (SELECT @expires FROM here)) ON CONFLICT (id) DO NOTHING RETURNING 1)
SELECT (SELECT count(*) FROM changed) FROM here

-- name: postgres: touch
{begin}),
changed AS (UPDATE {table} SET seen = @seen WHERE id = @id AND seen < @seen AND EXISTS (SELECT 1 FROM here) RETURNING 1)
SELECT (SELECT count(*) FROM changed) FROM here

-- name: postgres: revoke
{begin}),
changed AS (DELETE FROM {table} WHERE id = @id AND user_id = @user AND EXISTS (SELECT 1 FROM here) RETURNING 1)
SELECT (SELECT count(*) FROM changed) FROM here

-- name: postgres: revoke user
{begin}),
changed AS (DELETE FROM {table} WHERE user_id = @user AND EXISTS (SELECT 1 FROM here) RETURNING 1)
SELECT (SELECT count(*) FROM changed) FROM here

-- name: postgres: cleanup
{begin}),
changed AS (DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE expires < @before ORDER BY expires LIMIT 1000) AND EXISTS (SELECT 1 FROM here) RETURNING 1)
SELECT (SELECT count(*) FROM changed) FROM here

-- name: postgres: user
-- A standby may not know yet that a session was revoked.
{to primary}SELECT user_id, hash, seen, 1 FROM {table} WHERE id = @id

-- name: postgres: sessions
{to primary}SELECT id, 1 FROM {table} WHERE user_id = @user ORDER BY id DESC

-- name: mysql: add
-- IGNORE would hide other errors too.
INSERT INTO {table} (id, user_id, hash, seen, expires) VALUES (@id, @user, @hash, @seen, @expires)

-- name: mysql: touch
UPDATE {table} SET seen = @seen WHERE id = @id AND seen < @seen

-- name: mysql: revoke
DELETE FROM {table} WHERE id = @id AND user_id = @user

-- name: mysql: revoke user
DELETE FROM {table} WHERE user_id = @user

-- name: mysql: cleanup
DELETE FROM {table} WHERE expires < @before ORDER BY expires LIMIT 1000

-- name: mysql: user
SELECT user_id, hash, seen, @@autocommit FROM {table} WHERE id = @id

-- name: mysql: sessions
SELECT id, @@autocommit FROM {table} WHERE user_id = @user ORDER BY id DESC

-- name: sqlite: add
-- SQLite makes all changes before it returns the first row, so it doesn't matter that package
-- sqlsession only reads one.
INSERT INTO {table} (id, user_id, hash, seen, expires) VALUES (@id, @user, @hash, @seen, @expires) ON CONFLICT (id) DO NOTHING RETURNING id

-- name: sqlite: touch
UPDATE {table} SET seen = @seen WHERE id = @id AND seen < @seen RETURNING id

-- name: sqlite: revoke
DELETE FROM {table} WHERE id = @id AND user_id = @user RETURNING id

-- name: sqlite: revoke user
DELETE FROM {table} WHERE user_id = @user RETURNING id

-- name: sqlite: cleanup
DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE expires < @before ORDER BY expires LIMIT 1000) RETURNING id

-- name: sqlite: user
SELECT user_id, hash, seen, 1 FROM {table} WHERE id = @id

-- name: sqlite: sessions
SELECT id, 1 FROM {table} WHERE user_id = @user ORDER BY id DESC
