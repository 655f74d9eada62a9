-- name: CreateAuthor :exec
INSERT INTO authors (id, name) VALUES (?, ?);

-- name: CreateBook :exec
INSERT INTO books (id, author_id, editor_id, title) VALUES (?, ?, ?, ?);

-- name: GetAuthor :one
SELECT * FROM authors WHERE id = ?;

-- name: ListAuthors :many
SELECT * FROM authors WHERE id IN (sqlc.slice('ids')) ORDER BY id;

-- name: AuthorsAfter :many
SELECT * FROM authors WHERE id > ? ORDER BY id LIMIT ?;

-- name: BooksWithAuthor :many
SELECT b.id, b.editor_id, a.id AS author_id, a.name FROM books b JOIN authors a ON a.id = b.author_id WHERE a.id = ? ORDER BY b.id;

-- name: CountBooks :one
SELECT count(*) FROM books;

-- name: LastBook :one
SELECT CAST(max(id) AS SIGNED) FROM books;

-- name: DeleteBook :execrows
DELETE FROM books WHERE id = ?;

-- name: CreateUser :exec
INSERT INTO users (id, name, n) VALUES (?, ?, ?);

-- name: UpsertUser :exec
INSERT INTO users (id, name, n) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE n = VALUES(n);

-- name: UserID :one
SELECT id FROM users WHERE name = ?;

-- name: IgnoreUser :execrows
INSERT INTO users (id, name, n) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE id = id;

-- name: CreateTeam :exec
INSERT INTO teams (id, name) VALUES (?, ?);

-- name: CreateMember :exec
INSERT INTO members (id, team_id, name) VALUES (?, ?, ?);

-- name: MembersWithTeam :many
SELECT m.id, m.name, t.id AS team_id FROM members m JOIN teams t ON t.id = m.team_id WHERE t.id = ? ORDER BY m.id;

-- name: GetMember :one
SELECT * FROM members WHERE id = ?;

-- name: ListTeams :many
SELECT * FROM teams WHERE id IN (sqlc.slice('ids')) ORDER BY id;
