CREATE TABLE users (
  id BIGINT NOT NULL,
  name VARCHAR(40) NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY users_name (name),
  CHECK (id > 0)
);
