package catalog

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

const (
	postgresTable = `SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
	(WITH RECURSIVE base(type, typmod) AS (
			SELECT a.atttypid, a.atttypmod
			UNION ALL SELECT t.typbasetype, t.typtypmod FROM base JOIN pg_type t ON t.oid = base.type AND t.typtype = 'd')
		SELECT format_type(type, typmod) FROM base JOIN pg_type t ON t.oid = base.type AND t.typtype <> 'd')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.oid = to_regclass(CASE WHEN $1::text = '' THEN format('%I', $2::text) ELSE format('%I.%I', $1::text, $2::text) END)
AND c.relkind IN ('r', 'p', 'f', 'v', 'm')
ORDER BY a.attnum`

	mysqlTable = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_TYPE
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA NOT IN ` + database.MySQLSystem + ` AND TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`

	sqliteTable = `SELECT t.schema, t.name, x.name, x.type, x.type
FROM pragma_database_list AS d JOIN pragma_table_list AS t ON t.schema = d.name JOIN pragma_table_xinfo(t.name, t.schema) AS x
WHERE t.name = ?2 COLLATE NOCASE AND (?1 = '' OR d.name = ?1 COLLATE NOCASE) AND d.name <> 'temp' AND t.type IN ('table', 'view')
ORDER BY d.seq, x.cid`
)

// readColumns returns the columns of one table or view, or none if it doesn't exist.
func (s server) readColumns(ctx context.Context, conn *sql.Conn, table Name) ([]Column, error) {
	columns, err := database.List(ctx, conn, s.syntax().columns, func(c *Column) []any {
		return append(c.path(), &c.Type, typed(s.Dialect, c))
	}, table.Schema, table.Name)
	// Databases attached to SQLite may have a table of that name too, in which case the
	// first one wins.
	return slices.DeleteFunc(columns, func(c Column) bool { return c.Table != columns[0].Table }), err
}

// keepsAnything reports whether a column can store both numbers and text, even though
// its type is neither. On SQLite these are the columns without a type, and on MySQL
// those that hold bytes.
func (s server) keepsAnything(c Column) bool {
	kind := strings.ToLower(c.Type)
	return kind == "" && s.syntax().untyped ||
		slices.ContainsFunc(s.syntax().keepsAnything, func(part string) bool { return strings.Contains(kind, part) })
}

// textSize returns how many characters a text column can hold, or 0 if there is no
// limit or it isn't known.
func textSize(c Column) int {
	n, ok := ddl.ParseType(c.Type).Digits()
	if !ok || !c.Text {
		return 0
	}
	return n
}
