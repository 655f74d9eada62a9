package sqlsession

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

// ErrUnusable is returned for a table that can't be used in its current state. The table
// has not been changed.
var ErrUnusable = errors.New("unusable table")

// Inspect reports whether all tables in names exist, using a single statement. It
// returns a [*protocol.VersionError] if a table has another version, and
// [ErrUnusable] if something about a table makes it unusable, such as a trigger that
// may change what is written. The names must have passed [CheckName]. They must all
// have the same schema, or none at all. If the server doesn't have all of the catalogs,
// Inspect only finds out whether the tables exist.
func Inspect(ctx context.Context, db *sql.DB, d sqldialect.Dialect, names ...string) (there bool, err error) {
	schema, _ := SplitName(names[0])
	var quoted, plain []string
	for _, name := range names {
		_, table := SplitName(name)
		quoted = append(quoted, "('"+d.Table(name)+"')")
		plain = append(plain, "'"+table+"'")
	}
	here, main := "DATABASE()", ""
	if d == sqldialect.SQLite {
		here = "'main'"
	}
	if schema != "" {
		here, main = "'"+schema+"'", d.Quote(schema)+"."
	}
	texts := inspectPostgres
	switch {
	case d == sqldialect.SQLite:
		texts = inspectSQLite
	case d.IsMySQL():
		var each []string
		for _, name := range plain {
			each = append(each, strings.ReplaceAll(inspectMySQL, "{name}", name))
		}
		texts = strings.Join(each, "\nUNION ALL ") + " LIMIT 9223372036854775807" // without it, sql_select_limit applies
	}
	text := strings.NewReplacer("{quoted}", strings.Join(quoted, ", "), "{names}", strings.Join(plain, ", "),
		"{each}", "SELECT "+strings.Join(plain, " AS name UNION ALL SELECT ")+" AS name",
		"{schema}", here, "{main}", main, "{version}", "'"+protocol.Known()+"'").Replace(texts)
	type finding struct{ kind, table, detail string }
	var findings []finding
	err = Read(ctx, db, d, Settings{}, func(conn *sql.Conn) (err error) {
		findings, err = List(ctx, conn, text, nil, func(f *finding) []any { return []any{&f.kind, &f.table, &f.detail} })
		return err
	})
	switch {
	case err != nil && d.Unknown(err):
		return exist(ctx, db, d, names)
	case err != nil:
		return false, err
	}
	there = true
	for _, f := range findings {
		switch f.kind {
		case "missing":
			there = false
		case "version":
			return false, &protocol.VersionError{Where: "the table " + f.table, Found: f.detail}
		default:
			return false, fmt.Errorf("snowkey: %w %s: it "+reasons[f.kind][0]+"; %s", ErrUnusable, f.table, f.detail, reasons[f.kind][1])
		}
	}
	return there, nil
}

// exist is Inspect for a server that doesn't know all of the catalogs that we would have
// to read. It can't find anything that makes a table unusable.
func exist(ctx context.Context, db *sql.DB, d sqldialect.Dialect, names []string) (there bool, err error) {
	for _, name := range names {
		err := Read(ctx, db, d, Settings{}, func(conn *sql.Conn) error {
			_, err := List(ctx, conn, "SELECT protocol FROM "+d.Table(name)+" WHERE 1 = 0", nil, func(version *int64) []any { return []any{version} })
			return err
		})
		if err != nil && d.Missing(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// reasons has the reason and remedy for each kind of problem.
var reasons = map[string][2]string{
	"trigger":            {"has the trigger %s, which may change what is written", "drop the trigger"},
	"rule":               {"has the rule %s, which may change what is written", "drop the rule"},
	"row-level security": {"has row-level security%s, which may hide rows from this role", "use ALTER TABLE … DISABLE ROW LEVEL SECURITY, or a role that bypasses it"},
	"kind":               {"is a %s", "make it an ordinary table, or choose another name"},
	"engine":             {"is kept by the engine %s, which forgets commits", "use ENGINE = InnoDB; for leases call snowkey.Fence too"},
}

// The version of a table is the default of its column protocol, or 1 if it doesn't have
// that column. The join with pg_class looks redundant, but a snapshot may not show a
// table yet that to_regclass already finds.
const inspectPostgres = ToPrimary + `WITH tables AS (SELECT t.name, c.oid AS id FROM (VALUES {quoted}) AS t (name) LEFT JOIN pg_class c ON c.oid = to_regclass(t.name)),
versions AS (SELECT t.name, COALESCE((SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	WHERE a.attrelid = t.id AND a.attname = 'protocol' AND NOT a.attisdropped), '1') AS version FROM tables t WHERE t.id IS NOT NULL)
SELECT 'missing', name, '' FROM tables WHERE id IS NULL
UNION ALL SELECT 'kind', t.name, CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'p' THEN 'partitioned table' ELSE 'relation of the kind ' || c.relkind::text END
	FROM tables t JOIN pg_class c ON c.oid = t.id WHERE c.relkind <> 'r'
UNION ALL SELECT 'version', name, version FROM versions WHERE version <> {version}
UNION ALL SELECT 'trigger', t.name, g.tgname::text FROM tables t JOIN pg_trigger g ON g.tgrelid = t.id WHERE NOT g.tgisinternal AND g.tgenabled <> 'D'
UNION ALL SELECT 'rule', t.name, r.rulename::text FROM tables t JOIN pg_rewrite r ON r.ev_class = t.id AND r.ev_enabled <> 'D'
UNION ALL SELECT 'row-level security', name, '' FROM tables WHERE id IS NOT NULL AND row_security_active(id)`

// MariaDB opens every table, unless the query asks for a single table of a single schema.
const inspectMySQL = `SELECT 'kind', table_name, LOWER(table_type) FROM information_schema.tables
WHERE table_schema = {schema} AND table_name = {name} AND table_type LIKE '%VIEW%'
UNION ALL SELECT CASE WHEN c.column_name IS NULL THEN 'missing' ELSE 'version' END, {name}, COALESCE(c.column_default, '1') FROM (SELECT 1 AS one) always
LEFT JOIN (SELECT column_name, column_default FROM information_schema.columns
	WHERE table_schema = {schema} AND table_name = {name} AND column_name IN ('protocol', 'bound') ORDER BY column_name DESC LIMIT 1) c ON 1 = 1
WHERE COALESCE(c.column_default, '-') <> {version}
UNION ALL SELECT 'engine', table_name, engine FROM information_schema.tables
WHERE table_schema = {schema} AND table_name = {name} AND engine <> 'InnoDB'
UNION ALL SELECT 'trigger', event_object_table, trigger_name FROM information_schema.triggers
WHERE event_object_schema = {schema} AND event_object_table = {name}`

const inspectSQLite = `WITH names AS ({each}),
versions AS (SELECT m.name, COALESCE((SELECT c.dflt_value FROM pragma_table_info(m.name, {schema}) c WHERE c.name = 'protocol'), '1') AS version
	FROM {main}sqlite_master m WHERE m.type = 'table' AND m.name IN ({names}))
SELECT 'missing', name, '' FROM names WHERE name NOT IN (SELECT name FROM versions)
UNION ALL SELECT 'version', name, version FROM versions WHERE version <> {version}
UNION ALL SELECT 'trigger', m.tbl_name, m.name FROM {main}sqlite_master m WHERE m.type = 'trigger' AND m.tbl_name IN ({names})`
