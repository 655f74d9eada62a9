-- Rows for the tables of helpdesk.postgres.sql.
INSERT INTO hd_organization (name) VALUES ('a'), ('b');
INSERT INTO hd_user (id, org_id, default_email_id, name) VALUES (1, 1, 1, 'a'), (2, NULL, 2, 'b');
INSERT INTO hd_user_email (user_id, address) VALUES (1, 'a@example.org'), (2, 'b@example.org');
INSERT INTO hd_ticket_status (name) VALUES ('open'), ('closed');
INSERT INTO hd_ticket (ticket_id, ticket_pid, number, user_id, user_email_id, status_id, assigned_to) OVERRIDING SYSTEM VALUE VALUES (1, NULL, '1', 1, 1, 1, 1), (2, 1, '2', 2, 2, 2, NULL);
INSERT INTO hd_thread_entry (pid, thread_id, created_by, body) VALUES (0, 1, 1, 'a'), (1, 2, 2, 'b');
INSERT INTO hd_file (size) VALUES (7), (8);
INSERT INTO hd_attachment (object_id, type, file_id) VALUES (1, 'H', 1), (2, 'H', 2);
