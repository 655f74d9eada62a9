package autoinc

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A sqlitePlanner plans for SQLite. It only looks at the database main.
type sqlitePlanner struct {
	*planner
	objects []sqliteObject
	tables  map[string]sqliteTable
}

// A sqliteTable has what is needed to copy a table.
type sqliteTable struct {
	strict  bool
	columns []string // without those that SQLite computes
}

// A sqliteObject is a row of sqlite_master.
type sqliteObject struct{ kind, name, table, sql string }

func planSQLite(ctx context.Context, conn *sql.Conn, p *planner) error {
	for _, k := range p.keys {
		for _, fk := range k.ForeignKeys {
			if narrow(fk.Child) {
				p.refuse(fk.Child, "rebuild its table with the column as BIGINT", "it is %s, which SQLite keeps as a floating-point number of %d bits", fk.Child.Type, fk.Child.Bits-1)
			}
		}
	}
	lite, err := newSQLitePlanner(ctx, conn, p)
	if err != nil || lite == nil {
		return err
	}
	p.beginWiden()
	p.note(Widen, "Every integer column of SQLite has 64 bits: there is nothing to widen.")
	p.notePhases()
	p.note(Drop, "Each table is rebuilt in one transaction: writers wait until it is copied.")
	for _, k := range p.keys {
		if !p.fenced(k) {
			p.add(Fence, lite.fence(k))
		}
		lite.rebuild(k)
		if !p.guarded(k, k.Column.Table) {
			p.add(Guard, lite.guard(k))
		}
	}
	return nil
}

// newSQLitePlanner reads the schema. It returns nil if it has refused a table of another file.
func newSQLitePlanner(ctx context.Context, conn *sql.Conn, p *planner) (*sqlitePlanner, error) {
	for _, k := range p.keys {
		if k.Column.Table.Schema != "main" {
			p.refuse(k.Column, "open its file as a database of its own", "it is in an attached database")
			return nil, nil
		}
	}
	file, err := database.One(ctx, conn, p.query("database"), database.Text)
	if err != nil {
		return nil, err
	}
	p.database = filepath.Base(file)
	lite := &sqlitePlanner{planner: p, tables: make(map[string]sqliteTable)}
	return lite, lite.read(ctx, conn)
}

// read reads the schema. It refuses a database in which some rows have no parent. After a
// rebuild we couldn't tell these rows from rows that the rebuild itself broke.
func (p *sqlitePlanner) read(ctx context.Context, conn *sql.Conn) error {
	type orphan struct {
		table  string
		rowid  sql.Null[int64]
		parent string
	}
	type stored struct {
		table, column string
		strict        bool
	}
	var orphans []orphan
	var columns []stored
	err := database.ReadAll(ctx, conn,
		database.Into(&p.objects, p.query("objects"), func(o *sqliteObject) []any { return []any{&o.kind, &o.name, &o.table, &o.sql} }),
		database.Into(&columns, p.query("stored"), func(c *stored) []any { return []any{&c.table, &c.strict, &c.column} }),
		database.Into(&orphans, p.query("orphans"), func(o *orphan) []any { return []any{&o.table, &o.rowid, &o.parent} }),
	)
	for _, o := range orphans {
		p.refuse(catalog.Column{Table: catalog.Name{Schema: "main", Name: o.table}, Name: "rowid"}, "see PRAGMA foreign_key_check for all, and mend or delete them",
			"its row %d references a row of %q that is not there", o.rowid.V, o.parent)
	}
	for _, c := range columns {
		p.tables[c.table] = sqliteTable{c.strict, append(p.tables[c.table].columns, c.column)}
	}
	return err
}

// fence returns a step that rejects rows without a key. According to the SQLite
// documentation, the key that a trigger sees in such a row is undefined, but it has
// been -1 in every version so far.
func (p *sqlitePlanner) fence(k catalog.Key) Step {
	return p.trigger(k, database.FencePrefix, "refuse rows of "+p.name(k.Column.Table)+" that come without a key",
		"coalesce(NEW."+p.Quote(k.Column.Name)+", -1) = -1", "this row came without")
}

func (p *sqlitePlanner) guard(k catalog.Key) Step {
	table, column := k.Column.Table, p.Quote(k.Column.Name)
	return p.trigger(k, database.GuardPrefix, fmt.Sprintf("refuse new rows of %s with a key below %d", p.name(table), p.options.Floor),
		fmt.Sprintf("NEW.%s < %d AND NOT EXISTS (SELECT 1 FROM %s WHERE %[1]s = NEW.%[1]s)", column, p.options.Floor, p.Quote(table.Name)),
		"this key was not")
}

// trigger returns a step that rejects new rows of a table if they meet a condition.
func (p *sqlitePlanner) trigger(k catalog.Key, prefix, text, condition, what string) Step {
	table := k.Column.Table
	name := database.Own(prefix, table.Name)
	trigger := p.name(catalog.Name{Schema: table.Schema, Name: name})
	return Step{
		Text: text,
		SQL: fmt.Sprintf("CREATE TRIGGER %s BEFORE INSERT ON %s WHEN %s BEGIN SELECT RAISE(ABORT, %s); END",
			trigger, p.Quote(table.Name), condition, p.Literal("snowkey: "+table.Name+"."+k.Column.Name+" is to be generated, and "+what)),
		Done: fmt.Sprintf("SELECT count(*) FROM main.sqlite_master WHERE type = 'trigger' AND name = %s", p.Literal(name)),
		Unit: p.begin(), Locks: "writers for a moment", Lasting: true, Undo: []string{"DROP TRIGGER IF EXISTS " + trigger},
	}
}

// rebuild replaces a table with a copy whose key doesn't count.
func (p *sqlitePlanner) rebuild(k catalog.Key) {
	table := k.Column.Table
	create, was, again := p.definitions(k, k.Column, "rebuild its table by hand, with the key as BIGINT NOT NULL PRIMARY KEY", func(sql string) (string, error) {
		return retyped(sql, []string{k.Column.Name}, k.Column.Name, p.tables[table.Name].strict)
	})
	again = slices.DeleteFunc(again, func(o sqliteObject) bool {
		return o.name == database.Own(database.FencePrefix, table.Name) || o.name == database.Own(database.GuardPrefix, table.Name)
	})
	list, unit := p.List(p.tables[table.Name].columns), p.begin()
	copy := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s", p.name(table), list, list, p.name(p.aside(table)))
	steps := append(p.replaced(table, create, was, again, copy, copy, p.fence(k).SQL), Step{
		Text: "check that no foreign key to or from the table is broken", Run: Check, SQL: p.brokenReferences(table),
		After: restoreForeignKeys,
	})
	steps[0].Before = withoutForeignKeys
	for _, s := range steps {
		if s.SQL == create {
			s.Lasting, s.Done = true, fmt.Sprintf("SELECT count(*) FROM pragma_table_info(%s, 'main') WHERE name = %s AND upper(type) <> 'INTEGER'", p.Literal(table.Name), p.Literal(k.Column.Name))
		}
		s.Unit, s.Locks = unit, allWriters
		p.add(Drop, s)
	}
}

var (
	withoutForeignKeys = []string{"PRAGMA foreign_keys = OFF", "PRAGMA legacy_alter_table = ON"}
	restoreForeignKeys = []string{"PRAGMA legacy_alter_table = OFF", "PRAGMA foreign_keys = ON"}
)

const allWriters = "all writers of the file until the transaction ends"

// aside returns the name of a table while its rows are copied to the table that replaces it.
func (*sqlitePlanner) aside(table catalog.Name) catalog.Name { return beside("snowkey_old", table) }

// replaced returns the steps that replace a table: they set it aside, create the other one
// with the SQL create, and copy the rows. To reverse that, the table is replaced by the one
// that was creates, with the rows that back copies, and an undo runs the other statements.
// The row of a counter in sqlite_sequence stays, even if nothing counts there any more.
func (p *sqlitePlanner) replaced(table catalog.Name, create, was string, again []sqliteObject, copy, back string, undo ...string) (steps []Step) {
	name, aside := p.name(table), p.name(p.aside(table))
	rename := fmt.Sprintf("ALTER TABLE %s RENAME TO %s", name, p.Quote(p.aside(table).Name))
	var counter []string
	if slices.ContainsFunc(ddl.Tokens(was, false), func(t ddl.Token) bool { return t.Is("AUTOINCREMENT") }) {
		counter = []string{
			"DELETE FROM main.sqlite_sequence WHERE name = " + p.Literal(table.Name), // which the copy has made
			fmt.Sprintf("UPDATE main.sqlite_sequence SET name = %s WHERE name = %s", p.Literal(table.Name), p.Literal(p.aside(table).Name)),
		}
	}
	drop := "DROP TABLE " + aside
	undo = slices.Concat([]string{rename, was, back}, counter, []string{drop}, undo)
	steps = []Step{
		{Text: "set " + name + " aside; views and triggers of other tables stay as they are", SQL: rename},
		{Text: "create a new " + name + " with a key that does not count", SQL: create},
		{Text: "copy its rows", Rewrites: "the whole table and its indexes", Copies: name, SQL: copy},
		{
			Text: "check that no row is missing", Run: Check,
			SQL: fmt.Sprintf("SELECT old.n AS old, new.n AS new FROM (SELECT count(*) AS n FROM %s) AS old, (SELECT count(*) AS n FROM %s) AS new WHERE old.n <> new.n", aside, name),
		},
	}
	for _, sql := range counter {
		steps = append(steps, Step{Text: "keep where its counter stands", SQL: sql})
	}
	steps = append(steps, Step{Text: "drop the old table, with its indexes and triggers", SQL: drop})
	for _, o := range again {
		undo = append(undo, o.sql)
		steps = append(steps, Step{Text: fmt.Sprintf("create the %s %s again", o.kind, p.Quote(o.name)), SQL: o.sql})
	}
	steps[0].Undo = undo
	return steps
}

// definitions returns the SQL that creates the new table, as rewrite makes it from that of the
// old one, and that of the old one, and the indexes and triggers that are created again. It
// refuses the column if rewrite fails.
func (p *sqlitePlanner) definitions(k catalog.Key, column catalog.Column, remedy string, rewrite func(sql string) (string, error)) (create, was string, again []sqliteObject) {
	table, aside := column.Table, p.aside(column.Table)
	for _, o := range p.objects {
		if k.Mechanism != "" {
			p.refuseObject(k, o)
		}
		own := ddl.Lower(o.table) == ddl.Lower(table.Name)
		switch {
		case o.kind == "table" && own:
			var err error
			if create, err = rewrite(o.sql); err != nil {
				p.refuse(column, remedy, "%v", err)
			}
			was = o.sql
		case o.name == aside.Name:
			p.refuse(column, "drop it or rename it", "there is a table %s, as the old one is called while it is copied", p.name(aside))
		case own:
			o.sql = strings.TrimRight(o.sql, "; \n\t")
			again = append(again, o) // an index or a trigger
		}
	}
	return create, was, again
}

// refuseObject refuses a key if an object relies on the rowid of its table. The new table
// has a hidden rowid, which is not the key.
func (p *sqlitePlanner) refuseObject(k catalog.Key, o sqliteObject) {
	table, key := k.Column.Table.Name, k.Column.Name
	if o.kind == "table" && searches(o.sql, table, key) {
		p.refuse(k.Column, fmt.Sprintf("drop %s and its triggers, apply the plan, create it again with content_rowid=%s, and rebuild it", p.Quote(o.name), p.Quote(key)),
			"the search index %s finds rows by the rowid of the table, which is another number than the key once the table is rebuilt", p.Quote(o.name))
	}
	if (o.kind == "view" || o.kind == "trigger") && usesRowid(o, table) && !slices.Contains(rowids, ddl.Lower(key)) {
		p.refuse(k.Column, fmt.Sprintf("have it use %s", p.Quote(key)), "the %s %q uses the rowid of a table by that name, which is not the key any more once the table is rebuilt", o.kind, o.name)
	}
}

// brokenReferences returns a query for rows whose foreign key to or from a table is broken.
func (p *sqlitePlanner) brokenReferences(table catalog.Name) string {
	tables := []catalog.Name{table}
	for _, r := range p.report.References {
		if r.Parent == table && !slices.Contains(tables, r.Child) {
			tables = append(tables, r.Child)
		}
	}
	return joined(tables, "\nUNION ALL ", func(_ int, table catalog.Name) string {
		return fmt.Sprintf(`SELECT "table", rowid, parent FROM pragma_foreign_key_check(%s, %s)`, p.Literal(table.Name), p.Literal(table.Schema))
	})
}
