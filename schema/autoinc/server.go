package autoinc

import (
	"database/sql"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A server quotes names for a database server.
type server struct{ database.Server }

func (s server) name(n catalog.Name) string { return s.Path(n.Schema, n.Name) }

func (s server) column(c catalog.Column) string {
	return s.Path(c.Table.Schema, c.Table.Name, c.Name)
}

// typed returns a Scanner that takes the name of a column's type and sets what the
// column can hold.
func typed(d database.Dialect, c *catalog.Column) sql.Scanner {
	return database.ScanType(d, &c.Bits, &c.Unsigned, &c.Text)
}

// path returns the scan destinations for the name of a column.
func path(c *catalog.Column) []any { return []any{&c.Table.Schema, &c.Table.Name, &c.Name} }

func narrow(c catalog.Column) bool { return c.Bits > 0 && c.Bits < 64 }

func same(a, b catalog.Column) bool { return a.Table == b.Table && a.Name == b.Name }

// sameAs returns a function that reports whether a column is c.
func sameAs(c catalog.Column) func(catalog.Column) bool {
	return func(other catalog.Column) bool { return same(c, other) }
}

// A place identifies a column by its exact names.
type place struct{ schema, table, column string }

func exactPlace(c catalog.Column) place { return place{c.Table.Schema, c.Table.Name, c.Name} }
