INSERT INTO snowkey_lease_ns (namespace, layout, fingerprint, fence) VALUES ('default', '{layout}', 'this server', {fence});
INSERT INTO snowkey_lease (namespace, worker, token, revision, bound, expires_at, label) VALUES ('default', 0, '', 7, {bound}, 0, '')
