-- name: CreateAuthor :exec
INSERT INTO authors (id, name) VALUES ($1, $2);

-- name: CreateBook :one
INSERT INTO books (id, author_id, editor_id, title) VALUES ($1, $2, $3, $4) RETURNING *;

-- name: GetAuthor :one
SELECT * FROM authors WHERE id = $1;

-- name: AuthorsAfter :many
SELECT * FROM authors WHERE id > $1 ORDER BY id LIMIT $2;

-- name: BooksWithAuthor :many
SELECT b.id, b.editor_id, a.id AS author_id, a.name FROM books b JOIN authors a ON a.id = b.author_id WHERE a.id = $1 ORDER BY b.id;

-- name: CountBooks :one
SELECT count(*) FROM books;

-- name: LastBook :one
SELECT max(id)::bigint FROM books;

-- name: DeleteBook :execrows
DELETE FROM books WHERE id = $1;

-- name: CreateUser :exec
INSERT INTO users (id, name, n) VALUES ($1, $2, $3);

-- name: UpsertUser :one
INSERT INTO users (id, name, n) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET n = EXCLUDED.n RETURNING id;

-- name: IgnoreUser :execrows
INSERT INTO users (id, name, n) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: CreateTeam :exec
INSERT INTO teams (id, name) VALUES ($1, $2);

-- name: CreateMember :exec
INSERT INTO members (id, team_id, name) VALUES ($1, $2, $3);

-- name: MembersWithTeam :many
SELECT m.id, m.name, t.id AS team_id FROM members m JOIN teams t ON t.id = m.team_id WHERE t.id = $1 ORDER BY m.id;

-- name: GetMember :one
SELECT * FROM members WHERE id = $1;
