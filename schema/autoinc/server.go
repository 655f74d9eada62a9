package autoinc

import (
	"context"
	"database/sql"
	"embed"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A server quotes names for a database server.
type server struct{ database.Server }

//go:embed *.sql
var queries embed.FS

func (s server) query(name string) string { return s.Query(queries, name) }

func (s server) name(n catalog.Name) string { return s.Path(n.Schema, n.Name) }

// beside returns the name of an object that we create for another one, in its schema.
func beside(prefix string, other catalog.Name) catalog.Name {
	return catalog.Name{Schema: other.Schema, Name: database.Own(prefix, other.Name)}
}

func (s server) column(c catalog.Column) string {
	return s.Path(c.Table.Schema, c.Table.Name, c.Name)
}

// A dialect has what differs between the kinds of servers, except for their queries,
// which are in files such as postgres.sql.
type dialect struct {
	plan, rekey func(ctx context.Context, conn *sql.Conn, p *planner) error

	// plain are settings of the session with which the server writes definitions in the
	// same form every time, with qualified names and the same quotes.
	plain [][2]string

	session     func(a *applier) [][2]string // the settings for Apply
	lockTimeout time.Duration                // the default for ApplyOptions
	begin       string                       // begins a transaction, and excludes other writers where that's possible

	// These are for the progress table: the type of its text columns, and a clause that
	// lets an INSERT update an existing row.
	text, upsert string

	// The rest is for Verify.
	wait       [2]string   // a setting that limits how long a statement waits for a lock to a second
	empty      string      // what follows the table's name in an INSERT of a row without values
	overriding string      // lets an INSERT give the keys of an identity
	immediate  string      // checks deferred constraints
	loose      [][2]string // a setting with which a missing key becomes 0 instead of an error
}

const (
	onConflict  = "ON CONFLICT (plan, step) DO UPDATE SET state = excluded.state, detail = excluded.detail, at = CURRENT_TIMESTAMP"
	onDuplicate = "ON DUPLICATE KEY UPDATE state = VALUES(state), detail = VALUES(detail), at = CURRENT_TIMESTAMP"
)

// mysqlMode is the sql_mode in which plans are made and applied. It's strict, except
// that it allows invalid dates, so that a copy of a table can keep dates that don't
// exist. It quotes names with backticks, and a backslash in a string escapes.
const mysqlMode = "STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION"

// syntax returns the dialect of the server.
func (s server) syntax() dialect {
	switch s.Dialect {
	case catalog.Postgres:
		return dialect{
			plan: planPostgres, rekey: rekeyPostgres,
			// The joins of our queries are written in a good order. Postgres takes longer to
			// look for a better one than to execute them.
			plain:   [][2]string{{"search_path", "''"}, {"join_collapse_limit", "'1'"}},
			session: (*applier).postgresSession, lockTimeout: 100 * time.Millisecond, begin: "BEGIN",
			text: "text", upsert: onConflict,
			wait:  [2]string{"lock_timeout", "'1s'"},
			empty: " DEFAULT VALUES", overriding: " OVERRIDING SYSTEM VALUE", immediate: "SET CONSTRAINTS ALL IMMEDIATE",
		}
	case catalog.SQLite:
		return dialect{
			plan: planSQLite, rekey: rekeySQLite,
			session: (*applier).sqliteSession, lockTimeout: 5 * time.Second, begin: "BEGIN IMMEDIATE",
			text: "TEXT", upsert: onConflict,
			wait: [2]string{"busy_timeout", "1000"}, empty: " DEFAULT VALUES",
		}
	}
	return dialect{
		plan: planMySQL, rekey: rekeyMySQL,
		plain:   [][2]string{{"sql_mode", s.Literal(mysqlMode)}},
		session: (*applier).mysqlSession, lockTimeout: 100 * time.Millisecond, begin: "BEGIN",
		text: "VARCHAR(100)", upsert: onDuplicate,
		wait: [2]string{"innodb_lock_wait_timeout", "1"}, empty: " () VALUES ()",
		loose: [][2]string{{"sql_mode", "''"}},
	}
}

// path returns the scan destinations for the name of a column.
func path(c *catalog.Column) []any { return []any{&c.Table.Schema, &c.Table.Name, &c.Name} }

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

	expression string // of a column that MySQL computes
}

// A schema has the columns of all tables, also by their place and by table.
type schema struct {
	all     []column
	columns map[place]column
	of      map[catalog.Name][]column
}

// readColumns reads the columns, unless they were read before.
func (m *schema) readColumns(ctx context.Context, conn *sql.Conn, s server) (err error) {
	if m.all != nil {
		return nil
	}
	m.all, err = database.List(ctx, conn, s.query("columns"), func(c *column) []any {
		kind := database.ScanType(s.Dialect, &c.Bits, &c.Unsigned, &c.Text)
		return append(path(&c.Column), &c.Type, kind, &c.nullable, &c.fallback, &c.computed, &c.invisible, &c.expression)
	})
	m.columns, m.of = by(m.all, func(c column) place { return exactPlace(c.Column) }), make(map[catalog.Name][]column)
	for _, c := range m.all {
		m.of[c.Table] = append(m.of[c.Table], c)
	}
	return err
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
	if s.query("conditions") == "" {
		return nil, nil // SQLite does not list them
	}
	return database.List(ctx, conn, s.query("conditions"), func(c *condition) []any { return []any{&c.table.Schema, &c.table.Name, &c.name, &c.text} })
}
