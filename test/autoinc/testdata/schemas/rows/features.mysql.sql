-- Rows for the tables of features.mysql.sql.
SET SESSION foreign_key_checks = 0;
INSERT INTO `events` (`id`, `user_id`, `order_id`, `owner_id`, `owner_type`, `batch_id`) VALUES (1, 1, 1, 1, '1', 1);
INSERT INTO `events` (`id`, `user_id`, `order_id`, `owner_id`, `owner_type`, `batch_id`) VALUES (2, 2, 2, 2, '2', 2);
INSERT INTO `invoices` (`tenant`, `id`, `user_id`) VALUES (1, 1, 1);
INSERT INTO `invoices` (`tenant`, `id`, `user_id`) VALUES (2, 2, 2);
INSERT INTO `lines` (`order_id`, `no`, `note`) VALUES (1, 1, '1');
INSERT INTO `lines` (`order_id`, `no`, `note`) VALUES (2, 2, '2');
INSERT INTO `orders` (`id`, `user_id`, `user_state`, `total`) VALUES (1, 1, 1, 1);
INSERT INTO `orders` (`id`, `user_id`, `user_state`, `total`) VALUES (2, 2, 1, 2);
INSERT INTO `parcels` (`line_order`, `line_no`, `weight`) VALUES (1, 1, 1);
INSERT INTO `parcels` (`line_order`, `line_no`, `weight`) VALUES (2, 2, 2);
INSERT INTO `Us'er ``x` (`Id`, `shop's`) VALUES (1, 1);
INSERT INTO `Us'er ``x` (`Id`, `shop's`) VALUES (2, 2);
INSERT INTO `users` (`id`, `boss_id`, `name`, `state`, `updated_at`) VALUES (1, 1, '1', 1, '2020-01-01');
INSERT INTO `users` (`id`, `boss_id`, `name`, `state`, `updated_at`) VALUES (2, 2, '2', 1, '2020-01-02');
INSERT INTO `visits` (`day`, `id`, `user_id`) VALUES (1, 1, 1);
INSERT INTO `visits` (`day`, `id`, `user_id`) VALUES (2, 2, 2);
SET SESSION foreign_key_checks = 1;
