CREATE TABLE IF NOT EXISTS {table} (
	name  TEXT NOT NULL PRIMARY KEY,
	start INTEGER NOT NULL,
	bound INTEGER NOT NULL,
	protocol INTEGER NOT NULL DEFAULT {protocol} -- of Snowkey, not of the application
) WITHOUT ROWID
