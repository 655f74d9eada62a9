package autoinc

import (
	"cmp"
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
	if err != nil {
		return err
	}
	p.beginWiden()
	p.note(Widen, "Every integer column of SQLite has 64 bits: there is nothing to widen.")
	p.notePhases()
	p.note(Drop, "Each table is rebuilt in one transaction: writers wait until it is copied.")
	for _, k := range p.keys {
		if !p.fenced(k) {
			p.add(Fence, p.fence(k))
		}
		lite.transact(Drop, lite.rebuild(Drop, k, []catalog.Column{k.Column}, rekeying{}), k.Column.Table)
		if !p.guarded(k, k.Column.Table) {
			p.add(Guard, p.guard(k))
		}
	}
	return nil
}

// rekeySQLite plans one transaction, in which each table is replaced by a copy with new keys.
func rekeySQLite(ctx context.Context, conn *sql.Conn, p *planner) error {
	lite, err := newSQLitePlanner(ctx, conn, p)
	if err != nil {
		return err
	}
	r, err := p.rekeyPlan(ctx, conn)
	if err != nil {
		return err
	}
	p.mapLate(r)
	steps := []Step{p.checkUndo(r)}
	for _, c := range r.all() {
		steps = append(steps, p.checkMapped(c, r))
	}
	for _, table := range r.tables {
		steps = append(steps, lite.rebuild(Rekey, r.keys[table], r.columns[table], r)...)
	}
	lite.transact(Rekey, steps, r.tables...)
	return nil
}

// newSQLitePlanner reads the schema. It refuses tables of another file, and a database in which
// some rows have no parent. After a rebuild we couldn't tell these rows from rows that the
// rebuild itself broke.
func newSQLitePlanner(ctx context.Context, conn *sql.Conn, p *planner) (*sqlitePlanner, error) {
	type orphan struct {
		table  string
		rowid  sql.Null[int64]
		parent string
	}
	var orphans []orphan
	var files []string
	lite := &sqlitePlanner{planner: p}
	err := cmp.Or(
		database.Into(ctx, conn, &files, p.query("database"), database.Text),
		database.Into(ctx, conn, &lite.objects, p.query("objects"), func(o *sqliteObject) []any { return []any{&o.kind, &o.name, &o.table, &o.sql} }),
		database.Into(ctx, conn, &orphans, p.query("orphans"), func(o *orphan) []any { return []any{&o.table, &o.rowid, &o.parent} }),
	)
	p.database = filepath.Base(strings.Join(files, "")) // there is one
	for _, k := range p.keys {
		if k.Column.Table.Schema != "main" {
			p.refuse(k.Column, "open its file as a database of its own", "it is in an attached database")
		}
	}
	for _, o := range orphans {
		p.refuse(catalog.Column{Table: catalog.Name{Schema: "main", Name: o.table}, Name: "rowid"}, "see PRAGMA foreign_key_check for all, and mend or delete them",
			"its row %d references a row of %q that is not there", o.rowid.V, o.parent)
	}
	return lite, err
}

// rebuild returns the steps that replace a table by one in which columns are integers that don't
// count: they set the table aside, create the other one, and copy the rows with the values that r
// gives them. The key counts so far, unless it has no mechanism. The undo of the first step
// replaces the table by the old one again. The row of a counter in sqlite_sequence stays, even
// if nothing counts there any more.
func (p *sqlitePlanner) rebuild(phase PhaseName, k catalog.Key, columns []catalog.Column, r rekeying) []Step {
	table := columns[0].Table
	name, aside := p.name(table), beside("snowkey_old", table) // while rows are copied
	var was, create, more string
	if kept := r.kept(table); kept != "" {
		more = p.Quote(kept) + " " + k.Column.Type + " UNIQUE"
	}
	var again []Step // create indexes and triggers
	for _, o := range p.objects {
		if k.Mechanism != "" {
			p.refuseObject(k, o)
		}
		own := ddl.Lower(o.table) == ddl.Lower(table.Name)
		dropped := phase == Drop && slices.Contains([]string{database.Own(database.FencePrefix, table.Name), database.Own(database.GuardPrefix, table.Name)}, o.name)
		switch {
		case o.kind == "table" && own:
			var err error
			if create, err = retyped(o.sql, namesOf(columns), k.Column.Name, more); err != nil {
				p.refuse(columns[0], "leave out the table of the key (Except, --except)", "%v", err)
			}
			was = o.sql
		case o.name == aside.Name:
			p.refuse(columns[0], "drop it or rename it", "there is a table %s, as the old one is called while it is copied", p.name(aside))
		case own && !dropped:
			again = append(again, Step{Text: fmt.Sprintf("create the %s %s again", o.kind, p.Quote(o.name)), SQL: strings.TrimRight(o.sql, "; \n\t")})
		}
	}
	copy := func(from, to string) string {
		columns, values, joins := r.copied(p.server, table, p.stored(table), from, to)
		return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s AS t%s", name, p.List(columns), strings.Join(values, ", "), p.name(aside), joins)
	}
	replace := func(create, copy string) []Step {
		steps := []Step{
			{Text: "set " + name + " aside; views and triggers of other tables stay as they are", SQL: "ALTER TABLE " + name + " RENAME TO " + p.Quote(aside.Name)},
			{
				Text: "create a new " + name + " with a key that does not count", SQL: create, Lasting: true,
				Done: fmt.Sprintf("SELECT count(*) FROM pragma_table_info(%s, 'main') WHERE name = %s AND upper(type) <> 'INTEGER'", p.Literal(table.Name), p.Literal(columns[0].Name)),
			},
			{Text: "copy its rows", Rewrites: "the whole table and its indexes", Copies: name, SQL: copy},
			p.sameRows(p.name(aside), name),
		}
		if slices.ContainsFunc(ddl.Tokens(was, false), func(t ddl.Token) bool { return t.Is("AUTOINCREMENT") }) {
			const text = "keep where its counter stands"
			steps = append(steps, Step{Text: text, SQL: "DELETE FROM main.sqlite_sequence WHERE name = " + p.Literal(table.Name)}, // which the copy has made
				Step{Text: text, SQL: fmt.Sprintf("UPDATE main.sqlite_sequence SET name = %s WHERE name = %s", p.Literal(table.Name), p.Literal(aside.Name))})
		}
		return append(append(steps, Step{Text: "drop the old table, with its indexes and triggers", SQL: "DROP TABLE " + p.name(aside)}), again...)
	}
	steps := replace(create, copy("old", "new"))
	steps[0].Undo = statements(replace(was, copy("new", "old")))
	if phase == Drop {
		steps[0].Undo = append(steps[0].Undo, p.fence(k).SQL)
	}
	return steps
}

// transact adds steps as one transaction, at the end of which no foreign key to or from the tables
// may be broken.
func (p *sqlitePlanner) transact(phase PhaseName, steps []Step, tables ...catalog.Name) {
	steps[0].Before = []string{"PRAGMA foreign_keys = OFF", "PRAGMA legacy_alter_table = ON"}
	all := slices.Clone(tables)
	for _, r := range p.report.References {
		if slices.Contains(tables, r.Parent) && !slices.Contains(all, r.Child) {
			all = append(all, r.Child)
		}
	}
	steps = append(steps, Step{
		Text: "check that no foreign key is broken", Run: Check, After: []string{"PRAGMA legacy_alter_table = OFF", "PRAGMA foreign_keys = ON"},
		SQL: database.Joined(all, "\nUNION ALL ", func(_ int, table catalog.Name) string {
			return fmt.Sprintf(`SELECT "table", rowid, parent FROM pragma_foreign_key_check(%s, %s)`, p.Literal(table.Name), p.Literal(table.Schema))
		}),
	})
	unit := p.begin()
	for _, s := range steps {
		s.Unit, s.Locks = unit, "all writers of the file until the transaction ends"
		p.add(phase, s)
	}
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
