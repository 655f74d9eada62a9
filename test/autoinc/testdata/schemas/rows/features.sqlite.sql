-- Rows for the tables of features.sqlite.sql.
PRAGMA foreign_keys = OFF;
INSERT INTO "Us""er [x]" ("Id", "shop's") VALUES (1, 1);
INSERT INTO "Us""er [x]" ("Id", "shop's") VALUES (2, 2);
INSERT INTO "events" ("id", "user_id", "owner_id", "owner_type") VALUES (1, 1, 1, 'v1');
INSERT INTO "events" ("id", "user_id", "owner_id", "owner_type") VALUES (2, 2, 2, 'v2');
INSERT INTO "lines" ("order_id", "no", "note") VALUES (1, 1, 'v1');
INSERT INTO "lines" ("order_id", "no", "note") VALUES (2, 2, 'v2');
INSERT INTO "notes" ("id", "body") VALUES (1, 'v1');
INSERT INTO "notes" ("id", "body") VALUES (2, 'v2');
INSERT INTO "orders" ("id", "user_id", "total") VALUES (1, 1, 1);
INSERT INTO "orders" ("id", "user_id", "total") VALUES (2, 2, 2);
INSERT INTO "parcels" ("line_order", "line_no") VALUES (1, 1);
INSERT INTO "parcels" ("line_order", "line_no") VALUES (2, 2);
INSERT INTO "users" ("id", "boss_id", "name", "updated_at") VALUES (1, 1, 'v1', 'v1');
INSERT INTO "users" ("id", "boss_id", "name", "updated_at") VALUES (2, 2, 'v2', 'v2');
PRAGMA foreign_keys = ON;
