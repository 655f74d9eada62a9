package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
)

// A dialect has everything that differs between the kinds of servers.
type dialect struct {
	// read returns the catalog. wanted has the schemas that the caller chose, if any.
	// Without counters, it may leave out their current values.
	read func(s server, ctx context.Context, conn *sql.Conn, wanted []string, counters bool) (*catalog, error)

	fold          func(name string) string // makes column names equal if the server treats them as the same
	keepsAnything []string                 // parts of the names of types that can hold numbers as well as text
	untyped       bool                     // whether a column without a type can hold both, too
	limitsText    bool                     // whether the server enforces n in VARCHAR(n)
	signs         bool                     // whether columns can be UNSIGNED

	widen func(s server, c Column) string // how to make a column 64 bits wide
}

var mysqlDialect = dialect{
	read:          server.readMySQL,
	fold:          strings.ToLower,
	keepsAnything: []string{"binary", "blob"},
	limitsText:    true,
	signs:         true,
	widen: func(s server, c Column) string {
		bigint := "BIGINT"
		if c.Unsigned {
			bigint = "BIGINT UNSIGNED"
		}
		return fmt.Sprintf("drop every foreign key between this key and its children, MODIFY %s of %s and all of the others to %s, repeating NOT NULL, COMMENT and the other attributes, and add the foreign keys again; writers wait meanwhile",
			s.Quote(c.Name), s.name(c.Table), bigint)
	},
}

var dialects = map[Dialect]dialect{
	Postgres: {
		read:       server.readPostgres,
		fold:       exact,
		limitsText: true,
		widen: func(s server, c Column) string {
			return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE bigint rewrites the table and locks out readers and writers meanwhile; to avoid that, fill a new column of type bigint in batches and swap the two",
				s.name(c.Table), s.Quote(c.Name))
		},
	},
	MySQL:   mysqlDialect,
	MariaDB: mysqlDialect,
	SQLite: {
		read:          server.readSQLite,
		fold:          ddl.Lower,
		keepsAnything: []string{"blob"},
		untyped:       true,
		widen: func(s server, c Column) string {
			return fmt.Sprintf("rebuild %s with %s as BIGINT", s.name(c.Table), s.Quote(c.Name))
		},
	},
}

func (s server) syntax() dialect { return dialects[s.Dialect] }
