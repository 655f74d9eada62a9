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
	read func(s server, ctx context.Context, conn *sql.Conn, wanted []string) (*catalog, error)

	// readQuickly is like read, but may leave out the current values of the counters.
	readQuickly func(s server, ctx context.Context, conn *sql.Conn, wanted []string) (*catalog, error)

	columns       string                   // a query for the columns of a table; takes its schema and name
	fold          func(name string) string // makes column names equal if the server treats them as the same
	keepsAnything []string                 // parts of the names of types that can hold numbers as well as text
	untyped       bool                     // whether a column without a type can hold both, too
	limitsText    bool                     // whether the server enforces n in VARCHAR(n)
	signs         bool                     // whether columns can be UNSIGNED

	widen   func(s server, c Column) string // how to make a column 64 bits wide
	view    func(s server, k *Key) (Severity, string)
	trigger advice
}

// An advice says how severe a finding is and what to do about it.
type advice struct {
	severity Severity
	remedy   string
}

var mysqlDialect = dialect{
	read:          server.readMySQL,
	readQuickly:   server.readMySQL,
	columns:       mysqlTable,
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
	view: func(server, *Key) (Severity, string) {
		return Note, "check that its readers accept numbers of 64 bits"
	},
	trigger: advice{Note, "check that it neither sets the key nor narrows it"},
}

var dialects = map[Dialect]dialect{
	Postgres: {
		read: server.readPostgres,
		readQuickly: func(s server, ctx context.Context, conn *sql.Conn, _ []string) (*catalog, error) {
			c, _, err := s.readPostgresCatalog(ctx, conn)
			return c, err
		},
		columns:    postgresTable,
		fold:       exact,
		limitsText: true,
		widen: func(s server, c Column) string {
			return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE bigint rewrites the table and locks out readers and writers meanwhile; to avoid that, fill a new column of type bigint in batches and swap the two",
				s.name(c.Table), s.Quote(c.Name))
		},
		view: func(s server, k *Key) (Severity, string) {
			return s.ifWidened(k), "drop it before the type of the column is altered (0A000 otherwise), and create it again in the same transaction, with its privileges"
		},
		trigger: mysqlDialect.trigger,
	},
	MySQL:   mysqlDialect,
	MariaDB: mysqlDialect,
	SQLite: {
		read:          server.readSQLite,
		readQuickly:   server.readSQLite,
		columns:       sqliteTable,
		fold:          ddl.Lower,
		keepsAnything: []string{"blob"},
		untyped:       true,
		widen: func(s server, c Column) string {
			return fmt.Sprintf("rebuild %s with %s as BIGINT", s.name(c.Table), s.Quote(c.Name))
		},
		view: func(server, *Key) (Severity, string) {
			return Warning, "drop it before the table is rebuilt, because renaming the new table fails while a view refers to the old one, and create it again afterwards"
		},
		trigger: advice{Warning, "keep its text: a rebuild drops it with the old table"},
	},
}

func (s server) syntax() dialect { return dialects[s.Dialect] }
