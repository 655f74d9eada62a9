package catalog

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// readColumns returns the columns of one table or view, or none if it doesn't exist.
func (s server) readColumns(ctx context.Context, conn *sql.Conn, table Name) ([]Column, error) {
	columns, err := database.List(ctx, conn, s.query("table"), func(c *Column) []any {
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
