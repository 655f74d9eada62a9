-- A help desk with prefixes, and hardly any foreign keys.

CREATE TABLE hd_user (id INTEGER PRIMARY KEY, org_id INT, name TEXT NOT NULL);
CREATE TABLE hd_user_email (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INT NOT NULL, address TEXT NOT NULL UNIQUE);
CREATE TABLE hd_ticket_status (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'open');
CREATE TABLE hd_ticket (
    ticket_id INTEGER PRIMARY KEY AUTOINCREMENT,
    number TEXT NOT NULL UNIQUE CHECK (number <> ''),
    user_id INT NOT NULL,
    status_id INT NOT NULL DEFAULT 1 REFERENCES hd_ticket_status ON DELETE RESTRICT
);
CREATE INDEX by_user ON hd_ticket (user_id, status_id);
CREATE TABLE hd_thread (id INTEGER PRIMARY KEY, object_id INT NOT NULL, object_type CHAR(1) NOT NULL);
CREATE TABLE hd_attachment (object_id INT NOT NULL, type CHAR(1) NOT NULL, file_id INT NOT NULL, PRIMARY KEY (object_id, type, file_id));
CREATE VIEW hd_open AS SELECT t.ticket_id, t.number, u.name FROM hd_ticket t JOIN hd_user u ON u.id = t.user_id;
CREATE TRIGGER hd_user_lower AFTER INSERT ON hd_user_email BEGIN
    UPDATE hd_user_email SET address = lower(address) WHERE id = NEW.id;
END;
