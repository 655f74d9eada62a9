-- Rows for the tables of helpdesk.sqlite.sql.
INSERT INTO hd_user (id, org_id, name) VALUES (1, 1, 'a'), (2, NULL, 'b');
INSERT INTO hd_user_email (id, user_id, address) VALUES (1, 1, 'A@example.org'), (2, 2, 'b@example.org');
INSERT INTO hd_ticket_status (id, name) VALUES (1, 'open'), (2, 'closed');
INSERT INTO hd_ticket (ticket_id, number, user_id, status_id) VALUES (1, '1', 1, 1), (2, '2', 2, 2);
INSERT INTO hd_thread (id, object_id, object_type) VALUES (1, 1, 'T'), (2, 2, 'T');
INSERT INTO hd_attachment (object_id, type, file_id) VALUES (1, 'H', 1), (2, 'H', 2);
