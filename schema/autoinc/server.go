package autoinc

import (
	"context"
	"database/sql"
	"embed"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A server quotes names for a database server.
type server struct{ database.Server }

//go:embed *.sql page.*
var files embed.FS

func (s server) query(name string) string { return s.Query(files, name) }

func (s server) name(n catalog.Name) string { return s.Path(n.Schema, n.Name) }

// beside returns the name of an object that we create for another one, in its schema.
func beside(prefix string, other catalog.Name) catalog.Name {
	return catalog.Name{Schema: other.Schema, Name: database.Own(prefix, other.Name)}
}

func (s server) column(c catalog.Column) string {
	return s.Path(c.Table.Schema, c.Table.Name, c.Name)
}

// fill returns a query with values in the place of names in braces.
func (s server) fill(name string, values ...string) string {
	return strings.NewReplacer(values...).Replace(s.query(name))
}

// settings returns settings of the session, which are written like a query.
func (s server) settings(name string, values ...string) (all [][2]string) {
	for line := range strings.Lines(s.fill(name, append(values, "{mode}", s.Literal(mysqlMode))...)) {
		setting, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		all = append(all, [2]string{setting, value})
	}
	return all
}

// mysqlMode is the sql_mode in which plans are made and applied. It's strict, except
// that it allows invalid dates, so that a copy of a table can keep dates that don't
// exist. It quotes names with backticks, and a backslash in a string escapes.
const mysqlMode = "STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION"

// A dialect has what differs between the kinds of servers, except for their queries and
// settings, which are in files such as postgres.sql.
type dialect struct {
	plan, rekey func(ctx context.Context, conn *sql.Conn, p *planner) error
	lockTimeout time.Duration // the default for ApplyOptions
}

// syntax returns the dialect of the server.
func (s server) syntax() dialect {
	switch s.Dialect {
	case catalog.Postgres:
		return dialect{planPostgres, rekeyPostgres, 100 * time.Millisecond}
	case catalog.SQLite:
		return dialect{planSQLite, rekeySQLite, 5 * time.Second}
	}
	return dialect{planMySQL, rekeyMySQL, 100 * time.Millisecond}
}

// path returns the scan destinations for the name of a column.
func path(c *catalog.Column) []any { return []any{&c.Table.Schema, &c.Table.Name, &c.Name} }

func tableName(n *catalog.Name) []any { return []any{&n.Schema, &n.Name} }

func narrow(c catalog.Column) bool { return c.Bits > 0 && c.Bits < 64 }

func same(a, b catalog.Column) bool { return a.Table == b.Table && a.Name == b.Name }

// has reports whether a column is one of the columns.
func has(columns []catalog.Column, c catalog.Column) bool {
	return slices.ContainsFunc(columns, func(other catalog.Column) bool { return same(c, other) })
}

func sameReference(a, b catalog.Reference) bool {
	return a.Child == b.Child && a.Parent == b.Parent && slices.Equal(a.Columns, b.Columns) && slices.Equal(a.Keys, b.Keys)
}

// A place identifies a column by its exact names.
type place struct{ schema, table, column string }

func exactPlace(c catalog.Column) place { return place{c.Table.Schema, c.Table.Name, c.Name} }

// A column is a column of a table as it is now.
type column struct {
	catalog.Column
	nullable  bool
	fallback  bool // whether it has a default
	computed  bool // whether it can't be set
	invisible bool // whether SELECT * leaves it out

	expression string // its own default on Postgres; of a column that MySQL computes
	identity   string // the rest is only known on Postgres
	required   string // the name of its NOT NULL constraint, on servers that name them
	inherited  bool
}

// A schema has the columns of all tables, also by their place and by table.
type schema struct {
	all     []column
	columns map[place]column
	of      map[catalog.Name][]column
}

// readColumns reads the columns.
func (m *schema) readColumns(ctx context.Context, conn *sql.Conn, s server) (err error) {
	m.all, err = database.List(ctx, conn, s.query("columns"), func(c *column) []any {
		kind := database.ScanType(s.Dialect, &c.Bits, &c.Unsigned, &c.Text)
		return append(path(&c.Column), &c.Type, kind, &c.nullable, &c.fallback, &c.computed, &c.invisible, &c.expression, &c.identity, &c.required, &c.inherited)
	})
	m.columns, m.of = by(m.all, func(c column) place { return exactPlace(c.Column) }), make(map[catalog.Name][]column)
	for _, c := range m.all {
		m.of[c.Table] = append(m.of[c.Table], c)
	}
	return err
}

// stored returns the columns of a table that aren't computed.
func (m *schema) stored(table catalog.Name) (names []string) {
	for _, c := range m.of[table] {
		if !c.computed {
			names = append(names, c.Name)
		}
	}
	return names
}

// uniques returns the columns of each unique index, by table. An expression has no name.
func (s server) uniques(ctx context.Context, conn *sql.Conn) (map[catalog.Name][][]string, error) {
	type row struct {
		table         catalog.Name
		index, column string
	}
	rows, err := database.List(ctx, conn, s.query("unique"), func(r *row) []any { return []any{&r.table.Schema, &r.table.Name, &r.index, &r.column} })
	all := make(map[catalog.Name][][]string)
	for i, r := range rows {
		of := all[r.table]
		if i == 0 || rows[i-1].table != r.table || rows[i-1].index != r.index {
			of = append(of, nil)
		}
		of[len(of)-1] = append(of[len(of)-1], r.column)
		all[r.table] = of
	}
	return all, err
}

// A condition is a CHECK constraint.
type condition struct {
	table      catalog.Name
	name, text string
}

func (s server) conditions(ctx context.Context, conn *sql.Conn) ([]condition, error) {
	return database.List(ctx, conn, s.query("conditions"), func(c *condition) []any { return []any{&c.table.Schema, &c.table.Name, &c.name, &c.text} })
}
