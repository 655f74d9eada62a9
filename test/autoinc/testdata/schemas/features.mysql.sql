-- Every feature of MySQL and MariaDB that a migration to generated keys has to keep. What
-- is refused is in refusal_test.go.

CREATE TABLE users (
    id INT UNSIGNED NOT NULL AUTO_INCREMENT COMMENT 'the user''s `key` \\ AUTO_INCREMENT',
    boss_id INT UNSIGNED NULL,
    name VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL,
    state ENUM('open', 'clo''sed') NOT NULL DEFAULT 'open',
    updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    label VARCHAR(60) GENERATED ALWAYS AS (CONCAT(name, '!')) VIRTUAL,
    letters INT GENERATED ALWAYS AS (CHAR_LENGTH(name)) STORED,
    PRIMARY KEY (id),
    UNIQUE KEY (id, state),
    KEY users_name (name(10), id),
    FULLTEXT KEY users_words (name),
    CONSTRAINT users_boss FOREIGN KEY (boss_id) REFERENCES users (id) ON DELETE SET NULL ON UPDATE NO ACTION,
    CONSTRAINT named CHECK (CHAR_LENGTH(name) > 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COMMENT='users; with AUTO_INCREMENT=7' AUTO_INCREMENT=40;

-- Foreign keys of every kind; one has no index of its own name.
CREATE TABLE orders (
    id MEDIUMINT NOT NULL PRIMARY KEY AUTO_INCREMENT,
    user_id INT UNSIGNED NOT NULL,
    user_state ENUM('open', 'clo''sed') NOT NULL DEFAULT 'open',
    total DECIMAL(10, 2) NOT NULL DEFAULT 0,
    CONSTRAINT by_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE ON UPDATE RESTRICT,
    CONSTRAINT in_state FOREIGN KEY (user_id, user_state) REFERENCES users (id, state)
);
CREATE TABLE `lines` (
    order_id MEDIUMINT NOT NULL,
    no SMALLINT NOT NULL,
    note TEXT,
    PRIMARY KEY (order_id, no),
    CONSTRAINT of_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE RESTRICT
);
CREATE TABLE parcels (
    line_order MEDIUMINT,
    line_no SMALLINT,
    weight INT,
    CONSTRAINT of_line FOREIGN KEY (line_order, line_no) REFERENCES `lines` (order_id, no) ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE TABLE `Us'er ``x` (
    `Id` SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    `shop's` INT UNSIGNED,
    CONSTRAINT `shop's` FOREIGN KEY (`shop's`) REFERENCES users (id)
) COMMENT 'a table';

-- A composite key, of which one column counts.
CREATE TABLE invoices (
    tenant INT NOT NULL,
    id BIGINT NOT NULL AUTO_INCREMENT,
    user_id INT UNSIGNED NOT NULL,
    PRIMARY KEY (tenant, id),
    KEY (id)
);

-- A key that is unique, and not the primary key. Dates that do not exist.
CREATE TABLE badges (
    holder CHAR(36) NOT NULL PRIMARY KEY,
    id INT NOT NULL AUTO_INCREMENT UNIQUE,
    born DATE,
    seen DATETIME
);
CREATE TABLE doors (badge_id INT NOT NULL, FOREIGN KEY (badge_id) REFERENCES badges (id));

-- Columns that hold a key without a foreign key, of another sign too; a polymorphic one.
CREATE TABLE events (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id INT,
    order_id INT,
    owner_id INT,
    owner_type VARCHAR(40),
    batch_id INT
);

-- Partitions. They take no foreign keys.
CREATE TABLE visits (
    day INT NOT NULL,
    id INT NOT NULL AUTO_INCREMENT,
    user_id INT UNSIGNED,
    PRIMARY KEY (day, id),
    KEY (id)
) PARTITION BY RANGE (day) (
    PARTITION visits_1 VALUES LESS THAN (2),
    PARTITION visits_rest VALUES LESS THAN MAXVALUE
);

CREATE VIEW customers AS SELECT id, name FROM users WHERE state = 'open';
CREATE VIEW bosses AS SELECT c.id, COUNT(*) AS n FROM customers c JOIN users e ON e.boss_id = c.id GROUP BY c.id;

CREATE TRIGGER touch BEFORE UPDATE ON orders FOR EACH ROW
BEGIN
    IF NEW.total < 0 THEN
        SET NEW.total = 0;
    END IF;
END;
CREATE FUNCTION has_orders(p_user INT) RETURNS BOOLEAN READS SQL DATA
BEGIN
    DECLARE n INT;
    SELECT COUNT(*) INTO n FROM orders WHERE user_id = p_user;
    RETURN n > 0;
END;
