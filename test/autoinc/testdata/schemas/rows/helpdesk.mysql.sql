-- Rows for the tables of helpdesk.mysql.sql.
INSERT INTO hd_organization (id, name) VALUES (1, 'a'), (2, 'b');
INSERT INTO hd_user (id, org_id, default_email_id, name) VALUES (1, 1, 1, 'a'), (2, 0, 2, 'b');
INSERT INTO hd_user_email (id, user_id, address) VALUES (1, 1, 'a@example.org'), (2, 2, 'b@example.org');
INSERT INTO hd_ticket_status (id, name) VALUES (1, 'open'), (2, 'closed');
INSERT INTO hd_ticket (ticket_id, ticket_pid, number, user_id, user_email_id, status_id, assigned_to, updated) VALUES (1, NULL, '1', 1, 1, 1, 1, '2020-01-01'), (2, 1, '2', 2, 2, 2, NULL, '2020-01-02');
INSERT INTO hd_thread_entry (id, pid, thread_id, created_by, body) VALUES (1, 0, 1, 1, 'a'), (2, 1, 2, 2, 'b');
INSERT INTO hd_file (id, size) VALUES (1, 7), (2, 8);
INSERT INTO hd_attachment (object_id, type, file_id) VALUES (1, 'H', 1), (2, 'H', 2);
