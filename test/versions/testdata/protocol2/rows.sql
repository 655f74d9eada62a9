INSERT INTO snowkey_lease_ns (namespace, position, layout, fingerprint, fence, protocol) VALUES ('default', 0, '{layout}', 'another server', {fence}, 2);
INSERT INTO snowkey_lease (namespace, layout, worker, token, revision, bound, expires_at, label, protocol) VALUES ('default', '{layout}', 0, '-', 7, {bound}, 0, '-', 2);
INSERT INTO snowkey_lease (namespace, layout, worker, token, revision, bound, expires_at, label, protocol) VALUES ('default', '{layout}', 1, 'A2B3.t0', 8, {bound}, {held}, 'host a', 2)
