package sqlstore

import (
	"cmp"
	"context"

	"github.com/snowkey-go/snowkey/internal/sqlsession"
	"github.com/snowkey-go/snowkey/lease"
)

// Examine implements [lease.Store]. It looks for settings of the server and the two
// tables that could turn a crash or failover into more than the loss of the last few
// commits.
//
//	not-flushed  a crash of the machine may damage the database (Postgres: fsync; MySQL: innodb_doublewrite)
//	unlogged     a table is emptied by a crash, and not replicated (Postgres)
//	engine       a table is not kept by InnoDB (MySQL, MariaDB)
//	read-only    the server accepts no writes, so leases cannot be renewed
//
// Examine works with the same privileges as a claim. Anything the server doesn't know is
// left out.
func (s *Store) Examine(ctx context.Context) ([]lease.Finding, error) {
	schema, name := sqlsession.SplitName(s.table)
	var all []lease.Finding
	for _, text := range s.dialect.examine {
		a := args{"schema": cmp.Or(schema, "-"), "leases": name, "spaces": name + "_ns"}
		found, err := read(ctx, s, s.current.Load(), "{to primary}"+text, a, func(f *lease.Finding) []any { return []any{&f.Kind, &f.Text, &f.Remedy} })
		if err != nil && !s.dialect.Unknown(err) {
			return nil, s.explain(err)
		}
		all = append(all, found...)
	}
	return all, nil
}

var examinePostgres = []string{
	`SELECT 'not-flushed', 'the server runs with fsync = off', 'set fsync = on'
WHERE current_setting('fsync') = 'off'`,
	`SELECT 'unlogged', 'the table ' || oid::regclass || ' is UNLOGGED', 'ALTER TABLE ' || oid::regclass || ' SET LOGGED, and call Fence'
FROM pg_class WHERE oid IN (to_regclass('{lease}'), to_regclass('{ns}')) AND relpersistence <> 'p'`,
	`SELECT 'read-only', 'the server is a standby, or its transactions are read-only', 'connect to the primary'
WHERE pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'`,
}

var examineMySQL = []string{
	`SELECT 'not-flushed', 'the server runs with innodb_doublewrite off', 'set innodb_doublewrite = ON'
FROM (SELECT 1 AS one) AS always WHERE CAST(@@innodb_doublewrite AS CHAR) IN ('0', 'OFF')`,
	`SELECT 'engine', CONCAT('the table ', table_name, ' is kept by ', engine), CONCAT('ALTER TABLE ', table_name, ' ENGINE = InnoDB, and call Fence')
FROM information_schema.tables
WHERE table_schema = {schema} AND table_name IN (@leases, @spaces) AND engine <> 'InnoDB'`,
	`SELECT 'read-only', 'the server accepts no writes', 'connect to the primary'
FROM (SELECT 1 AS one) AS always WHERE @@read_only = 1`,
}
