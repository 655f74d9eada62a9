package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
)

// A TablesError says that leases cannot be kept in a table as it is. Open returns
// it at once, and nothing was written.
type TablesError struct {
	Table  string
	Reason string // what is wrong with it
	Remedy string
}

func (e *TablesError) Error() string {
	return fmt.Sprintf("sqlstore: the table %s %s; %s", e.Table, e.Reason, e.Remedy)
}

// inspectTables returns whether the tables are there, and a *TablesError or
// *lease.VersionError if they are not as they must be.
func (s *Store) inspectTables(ctx context.Context) (there bool, err error) {
	type trouble struct{ kind, table, detail string }
	troubles, err := list(ctx, s, s.dialect.inspect, s.tables(), func(t *trouble) []any {
		return []any{&t.kind, &t.table, &t.detail}
	})
	if err != nil {
		return false, err
	}
	there = true
	for _, t := range troubles {
		switch t.kind {
		case "missing":
			there = false
		case "version":
			return false, &lease.VersionError{Where: "the table " + t.table, Found: t.detail, Known: fmt.Sprint(protocol.Version)}
		case "trigger":
			return false, &TablesError{t.table, fmt.Sprintf("has the trigger %s, which may change what is written", t.detail), "drop the trigger"}
		case "rule":
			return false, &TablesError{t.table, fmt.Sprintf("has the rule %s, which may change what is written", t.detail), "drop the rule"}
		case "row-level security":
			return false, &TablesError{t.table, "has row-level security, which may hide rows from this role", "disable it for this table (ALTER TABLE … DISABLE ROW LEVEL SECURITY), or use a role that bypasses it"}
		case "engine":
			return false, &TablesError{t.table, "is kept by the engine " + t.detail + ", which does not keep commits", "use ENGINE = InnoDB, and call snowkey.Fence"}
		}
	}
	return there, nil
}

// tables are the arguments of statements about the tables themselves.
func (s *Store) tables() args {
	schema, name, ok := strings.Cut(s.table, ".")
	if !ok {
		schema, name = "-", s.table
	}
	return args{"schema": schema, "leases": name, "spaces": name + "_ns", "version": fmt.Sprint(protocol.Version)}
}

const inspectPostgres = `WITH tables AS (SELECT t.name, c.oid AS id FROM (VALUES ('{lease}'), ('{ns}')) AS t (name) LEFT JOIN pg_class c ON c.oid = to_regclass(t.name)),
versions AS (SELECT t.name, (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	WHERE a.attrelid = t.id AND a.attname = 'protocol' AND NOT a.attisdropped) AS version FROM tables t WHERE t.id IS NOT NULL)
SELECT 'missing', name, '' FROM tables WHERE id IS NULL
UNION ALL SELECT 'version', name, COALESCE(version, '1') FROM versions WHERE COALESCE(version, '1') <> @version
UNION ALL SELECT 'trigger', t.name, g.tgname::text FROM tables t JOIN pg_trigger g ON g.tgrelid = t.id WHERE NOT g.tgisinternal AND g.tgenabled <> 'D'
UNION ALL SELECT 'rule', t.name, r.rulename::text FROM tables t JOIN pg_rewrite r ON r.ev_class = t.id AND r.ev_enabled <> 'D'
UNION ALL SELECT 'row-level security', name, '' FROM tables WHERE id IS NOT NULL AND row_security_active(id)`

const inspectMySQL = `SELECT 'missing', names.name, ''
FROM (SELECT @leases AS name UNION ALL SELECT @spaces) names
LEFT JOIN information_schema.tables t ON t.table_schema = {schema} AND t.table_name = names.name WHERE t.table_name IS NULL
UNION ALL SELECT 'engine', t.table_name, t.engine FROM information_schema.tables t
WHERE t.table_schema = {schema} AND t.table_name IN (@leases, @spaces) AND t.engine <> 'InnoDB'
UNION ALL SELECT 'version', t.table_name, COALESCE(c.column_default, '1') FROM information_schema.tables t
LEFT JOIN information_schema.columns c ON c.table_schema = t.table_schema AND c.table_name = t.table_name AND c.column_name = 'protocol'
WHERE t.table_schema = {schema} AND t.table_name IN (@leases, @spaces) AND COALESCE(c.column_default, '1') <> @version
UNION ALL SELECT 'trigger', event_object_table, trigger_name FROM information_schema.triggers
WHERE event_object_schema = {schema} AND event_object_table IN (@leases, @spaces)`

const inspectSQLite = `WITH names (name) AS (SELECT @leases UNION ALL SELECT @spaces)
SELECT 'missing', name, '' FROM names WHERE name NOT IN (SELECT t.name FROM {main}sqlite_master t WHERE t.type = 'table')
UNION ALL SELECT 'version', m.name, COALESCE((SELECT c.dflt_value FROM pragma_table_info(m.name, {schema}) c WHERE c.name = 'protocol'), '1')
FROM {main}sqlite_master m JOIN names n ON n.name = m.name WHERE m.type = 'table'
AND COALESCE((SELECT c.dflt_value FROM pragma_table_info(m.name, {schema}) c WHERE c.name = 'protocol'), '1') <> @version
UNION ALL SELECT 'trigger', m.tbl_name, m.name FROM {main}sqlite_master m JOIN names n ON n.name = m.tbl_name WHERE m.type = 'trigger'`
