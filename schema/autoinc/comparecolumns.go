package autoinc

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

	mysqlTable = mysqlColumns + ` AND TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`

	sqliteTable = `SELECT t.schema, t.name, x.name, x.type, x.type
FROM pragma_database_list AS d JOIN pragma_table_list AS t ON t.schema = d.name JOIN pragma_table_xinfo(t.name, t.schema) AS x
WHERE t.name = ?2 COLLATE NOCASE AND (?1 = '' OR d.name = ?1 COLLATE NOCASE) AND d.name <> 'temp' AND t.type IN ('table', 'view')
ORDER BY d.seq, x.cid`
)

// readColumns returns the columns of one table or view; none if it is not there.
func (s server) readColumns(ctx context.Context, conn *sql.Conn, table Name) ([]Column, error) {
	typed := func(holds func(*Column, string, []int)) func(*Column) []any {
		return func(c *Column) []any { return append(c.path(), &c.Type, shape{c, holds}) }
	}
	switch s.dialect {
	case Postgres:
		return list(ctx, conn, postgresTable, typed(postgresHolds), table.Schema, table.Name)
	case SQLite:
		columns, err := list(ctx, conn, sqliteTable, typed(sqliteHolds), table.Schema, table.Name)
		// Attached databases may have a table of that name too. The first counts.
		return slices.DeleteFunc(columns, func(c Column) bool { return c.Table != columns[0].Table }), err
	}
	found, err := list(ctx, conn, mysqlTable, (*mysqlColumn).dest, table.Schema, table.Name)
	var columns []Column
	for _, column := range found {
		columns = append(columns, column.Column)
	}
	return columns, err
}

// sameColumn reports whether the server takes two names in a table for one.
func (s server) sameColumn(a, b string) bool {
	switch s.dialect {
	case Postgres:
		return a == b
	case SQLite:
		return lowerASCII(a) == lowerASCII(b)
	}
	return strings.EqualFold(a, b)
}

// keepsAnything reports whether a column that holds neither numbers nor text
// keeps either all the same: SQLite's without a type, and MySQL's of bytes.
func (s server) keepsAnything(c Column) bool {
	kind := strings.ToLower(c.Type)
	switch s.dialect {
	case Postgres:
		return false
	case SQLite:
		return kind == "" || strings.Contains(kind, "blob")
	}
	return strings.Contains(kind, "binary") || strings.Contains(kind, "blob")
}

var sizeOfType = regexp.MustCompile(`\((\d+)\)`)

// textSize returns how many characters a column of text keeps, or 0 if that is
// not limited or not known.
func textSize(c Column) int {
	match := sizeOfType.FindStringSubmatch(c.Type)
	if match == nil || !c.Text {
		return 0
	}
	size, _ := strconv.Atoi(match[1])
	return size
}
