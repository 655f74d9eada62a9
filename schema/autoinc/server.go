package autoinc

import (
	"cmp"
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

var dialects = map[catalog.Dialect]dialect{
	catalog.Postgres: {planPostgres, rekeyPostgres, 100 * time.Millisecond},
	catalog.MySQL:    {planMySQL, rekeyMySQL, 100 * time.Millisecond},
	catalog.MariaDB:  {planMySQL, rekeyMySQL, 100 * time.Millisecond},
	catalog.SQLite:   {planSQLite, rekeySQLite, 5 * time.Second},
}

// path returns the scan destinations for the name of a column.
func path(c *catalog.Column) []any { return []any{&c.Table.Schema, &c.Table.Name, &c.Name} }

func tableName(n *catalog.Name) []any { return []any{&n.Schema, &n.Name} }

func narrow(c catalog.Column) bool { return c.Bits > 0 && c.Bits < 64 }

func same(a, b catalog.Column) bool { return bare(a) == bare(b) }

// has reports whether a column is one of the columns.
func has(columns []catalog.Column, c catalog.Column) bool {
	return slices.ContainsFunc(columns, func(other catalog.Column) bool { return same(c, other) })
}

func sameReference(a, b catalog.Reference) bool {
	return a.Child == b.Child && a.Parent == b.Parent && slices.Equal(a.Columns, b.Columns) && slices.Equal(a.Keys, b.Keys)
}

// bare returns a column without its type, which is how maps know it.
func bare(c catalog.Column) catalog.Column { return catalog.Column{Table: c.Table, Name: c.Name} }

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

// A condition is a CHECK constraint.
type condition struct {
	table      catalog.Name
	name, text string
}

// A schema is what all planners and Verify know about tables.
type schema struct {
	server
	report      catalog.Report
	all         []column
	columns     map[catalog.Column]column
	of          map[catalog.Name][]column
	unique      map[catalog.Name][][]string // the columns of each unique index; an expression has no name
	conditions  []condition
	roots       map[catalog.Name]catalog.Name   // maps a partition to its partitioned table, which is also mapped to itself
	members     map[catalog.Name][]catalog.Name // maps a partitioned table to its partitions, the deepest first, and itself
	partitioned map[catalog.Name]bool
}

// readSchema inspects the keys, and reads the columns, indexes, checks and partitions of all tables.
func readSchema(ctx context.Context, conn *sql.Conn, s server, options catalog.Options) (schema, error) {
	type indexed struct {
		catalog.Column
		index string
	}
	type partition struct { // with one of the tables above it, or a partitioned table itself
		name, ancestor      catalog.Name
		partitioned, isRoot bool
	}
	var indexes []indexed
	var partitions []partition
	report, err := catalog.InspectConn(ctx, conn, options)
	if err != nil {
		return schema{}, err
	}
	m := schema{server: s, report: report}
	err = cmp.Or(
		database.Into(ctx, conn, &m.all, s.query("columns"), func(c *column) []any {
			kind := database.ScanType(s.Dialect, &c.Bits, &c.Unsigned, &c.Text)
			return append(path(&c.Column), &c.Type, kind, &c.nullable, &c.fallback, &c.computed, &c.invisible, &c.expression, &c.identity, &c.required, &c.inherited)
		}),
		database.Into(ctx, conn, &indexes, s.query("unique"), func(x *indexed) []any { return []any{&x.Table.Schema, &x.Table.Name, &x.index, &x.Name} }),
		database.Into(ctx, conn, &m.conditions, s.query("conditions"), func(c *condition) []any { return append(tableName(&c.table), &c.name, &c.text) }),
		database.Into(ctx, conn, &partitions, s.query("partitions"), func(p *partition) []any {
			return []any{&p.name.Schema, &p.name.Name, &p.partitioned, &p.ancestor.Schema, &p.ancestor.Name, &p.isRoot}
		}),
	)
	m.columns = database.By(m.all, func(c column) catalog.Column { return bare(c.Column) })
	m.of = database.Grouped(m.all, func(c column) catalog.Name { return c.Table })
	m.unique = make(map[catalog.Name][][]string)
	for i, x := range indexes {
		of := m.unique[x.Table]
		if i == 0 || indexes[i-1].Table != x.Table || indexes[i-1].index != x.index {
			of = append(of, nil)
		}
		of[len(of)-1] = append(of[len(of)-1], x.Name)
		m.unique[x.Table] = of
	}
	m.roots, m.members, m.partitioned = make(map[catalog.Name]catalog.Name), make(map[catalog.Name][]catalog.Name), make(map[catalog.Name]bool)
	for _, p := range partitions {
		m.members[p.ancestor] = append(m.members[p.ancestor], p.name)
		m.partitioned[p.name] = p.partitioned
		if p.isRoot {
			m.roots[p.name] = p.ancestor
		}
	}
	return m, err
}

// root returns the partitioned table that a partition belongs to, or the table itself.
func (m *schema) root(table catalog.Name) catalog.Name { return cmp.Or(m.roots[table], table) }

// stored returns the columns of a table that aren't computed.
func (m *schema) stored(table catalog.Name) (names []string) {
	for _, c := range m.of[table] {
		if !c.computed {
			names = append(names, c.Name)
		}
	}
	return names
}
