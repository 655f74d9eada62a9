SELECT strftime('%Y-%m-%d %H:%M:%f', (1735689600000 + ((id >> 22) & 2199023255551)) / 1000.0, 'unixepoch') AS time,
       ((id >> 12) & 1023) AS worker,
       (id & 4095) AS sequence
FROM (SELECT :id AS id)
----
SELECT min_id, min_id | 4194303 AS max_id
FROM (SELECT CASE WHEN since BETWEEN 0 AND 2199023255551 THEN since << 22 WHEN since IS NOT NULL THEN abs(-9223372036854775807 - 1) END AS min_id
      FROM (SELECT CAST(round((julianday(:time) - 2440587.5) * 86400000) AS INTEGER) - 1735689600000 AS since))
