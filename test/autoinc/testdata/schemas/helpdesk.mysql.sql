-- A help desk as PHP applications have them: a prefix, and hardly any foreign keys.

CREATE TABLE hd_organization (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE);

CREATE TABLE hd_user (
    id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    org_id INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'the organization''s',
    default_email_id INT NOT NULL DEFAULT 0,
    name VARCHAR(40) NOT NULL,
    KEY org (org_id)
);

CREATE TABLE hd_user_email (
    id INT UNSIGNED NOT NULL AUTO_INCREMENT,
    user_id INT UNSIGNED NOT NULL,
    address VARCHAR(60) NOT NULL,
    PRIMARY KEY (id), UNIQUE KEY address (address), KEY user_email_lookup (user_id)
);

CREATE TABLE hd_ticket_status (id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, name CHAR(9) NOT NULL DEFAULT 'open');

CREATE TABLE hd_ticket (
    ticket_id INT UNSIGNED NOT NULL AUTO_INCREMENT,
    ticket_pid INT UNSIGNED NULL,
    number VARCHAR(20) NOT NULL,
    user_id INT UNSIGNED NOT NULL DEFAULT 0,
    user_email_id INT UNSIGNED NOT NULL DEFAULT 0,
    status_id SMALLINT UNSIGNED NOT NULL DEFAULT 1,
    assigned_to MEDIUMINT NULL,
    updated TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    PRIMARY KEY (ticket_id), UNIQUE KEY number (number), KEY by_user (user_id, status_id),
    CONSTRAINT has_status FOREIGN KEY (status_id) REFERENCES hd_ticket_status (id) ON DELETE RESTRICT,
    CONSTRAINT numbered CHECK (number <> '')
);

CREATE TABLE hd_thread (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, object_id INT UNSIGNED NOT NULL, object_type CHAR(1) NOT NULL, KEY object (object_id, object_type));

CREATE TABLE hd_thread_entry (
    id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    pid INT UNSIGNED NOT NULL DEFAULT 0,
    thread_id INT UNSIGNED NOT NULL,
    created_by INT NOT NULL DEFAULT 0,
    body TEXT,
    CONSTRAINT in_thread FOREIGN KEY (thread_id) REFERENCES hd_thread (id) ON DELETE CASCADE
);

CREATE TABLE hd_file (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, size BIGINT UNSIGNED NOT NULL DEFAULT 0);

CREATE TABLE hd_attachment (object_id INT UNSIGNED NOT NULL, type CHAR(1) NOT NULL, file_id INT NOT NULL, PRIMARY KEY (object_id, type, file_id), KEY file (file_id));

CREATE VIEW hd_open AS SELECT t.ticket_id, t.number, u.name FROM hd_ticket t JOIN hd_user u ON u.id = t.user_id;

CREATE TRIGGER hd_ticket_thread AFTER INSERT ON hd_ticket FOR EACH ROW INSERT INTO hd_thread (object_id, object_type) VALUES (NEW.ticket_id, 'T');
