CREATE TABLE authors (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id > 0),
    name VARCHAR(100) NOT NULL
);

CREATE TABLE books (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id > 0),
    author_id BIGINT NOT NULL REFERENCES authors (id),
    editor_id BIGINT REFERENCES authors (id),
    title VARCHAR(100) NOT NULL
);
