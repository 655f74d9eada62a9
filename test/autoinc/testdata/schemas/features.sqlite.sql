-- Every feature of SQLite that a migration to generated keys has to keep. What is refused
-- is in refusal_test.go and preflight_test.go.

CREATE TABLE users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    boss_id INTEGER REFERENCES users ON DELETE SET NULL ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED,
    name TEXT NOT NULL COLLATE NOCASE CHECK (length(name) < 40),
    updated_at TEXT NOT NULL DEFAULT '1970-01-01',
    label TEXT GENERATED ALWAYS AS (name || '!') VIRTUAL,
    CONSTRAINT "one boss each" UNIQUE (id, boss_id)
);
CREATE INDEX users_lower ON users (lower(name));
CREATE INDEX users_boss ON users (boss_id DESC, name COLLATE BINARY) WHERE boss_id IS NOT NULL;
CREATE TRIGGER touch AFTER UPDATE OF name ON users FOR EACH ROW BEGIN
    UPDATE users SET updated_at = '2000-01-01' WHERE id = NEW.id;
END;

-- The rowid counts without the word AUTOINCREMENT too.
CREATE TABLE orders (
    id INTEGER NOT NULL PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE ON UPDATE RESTRICT,
    total DECIMAL(10, 2) NOT NULL DEFAULT 0
);
CREATE TABLE lines (
    order_id INTEGER NOT NULL REFERENCES orders ON DELETE RESTRICT,
    no INTEGER NOT NULL,
    note TEXT,
    PRIMARY KEY (order_id, no)
) WITHOUT ROWID;
CREATE TABLE parcels (
    line_order INTEGER,
    line_no INTEGER,
    FOREIGN KEY (line_order, line_no) REFERENCES lines (order_id, no) ON DELETE SET DEFAULT
);
CREATE TABLE "Us""er [x]" ("Id" INTEGER PRIMARY KEY, "shop's" INTEGER REFERENCES users) STRICT;
CREATE TABLE events (id INTEGER, user_id INTEGER, owner_id INTEGER, owner_type TEXT, CONSTRAINT events_pk PRIMARY KEY (id));

-- A full-text index that knows the key by its name.
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);
CREATE VIRTUAL TABLE notes_search USING fts5(body, content='notes', content_rowid='id');

CREATE VIEW customers AS SELECT id, name FROM users;
CREATE VIEW bosses AS SELECT c.id, count(*) AS n FROM customers c JOIN users e ON e.boss_id = c.id GROUP BY c.id;
CREATE TRIGGER on_view INSTEAD OF UPDATE ON customers BEGIN
    UPDATE users SET name = NEW.name WHERE id = OLD.id;
END;
