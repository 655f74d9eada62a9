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

const (
	sqliteDatabase = `SELECT coalesce(file, '') FROM pragma_database_list WHERE name = 'main'`

	sqliteObjects = `SELECT type, name, tbl_name, sql FROM main.sqlite_master WHERE sql IS NOT NULL ORDER BY type, name`

	sqliteReferences = `SELECT t.name, f.id, f."table", f."from", coalesce(f."to", ''), f.on_update, f.on_delete
FROM pragma_table_list AS t JOIN pragma_foreign_key_list(t.name, 'main') AS f
WHERE t.schema = 'main' AND t.type = 'table'
ORDER BY t.name, f.id, f.seq`

	// This excludes generated columns, which must not be copied.
	sqliteStored = `SELECT x.name FROM pragma_table_xinfo(?1, 'main') AS x WHERE x.hidden = 0 ORDER BY x.cid`

	sqliteStrict = `SELECT strict FROM pragma_table_list WHERE schema = 'main' AND name = ?1`

	sqliteOrphans = `SELECT f."table", f.rowid, f.parent FROM pragma_foreign_key_check AS f LIMIT 1`
)

// A sqliteObject is a row of sqlite_master.
type sqliteObject struct{ kind, name, table, sql string }

func (p *planner) planSQLite(ctx context.Context, conn *sql.Conn) error {
	file, err := database.One(ctx, conn, sqliteDatabase, database.Text)
	if err != nil {
		return err
	}
	p.database = filepath.Base(file)
	for _, k := range p.keys {
		if k.Column.Table.Schema != "main" {
			p.refuse(k.Column, "open its file as a database of its own", "it is in an attached database")
		}
	}
	if len(p.refusals) > 0 {
		return nil // the rest only looks at main
	}
	objects, err := database.List(ctx, conn, sqliteObjects, func(o *sqliteObject) []any { return []any{&o.kind, &o.name, &o.table, &o.sql} })
	if err != nil {
		return err
	}
	if err := p.readSQLiteReferences(ctx, conn); err != nil {
		return err
	}
	if err := p.refuseOrphans(ctx, conn); err != nil {
		return err
	}
	for _, c := range p.keys {
		for _, fk := range c.ForeignKeys {
			if narrow(fk.Child) {
				p.refuse(fk.Child, "rebuild its table with the column as BIGINT", "it is %s, which SQLite keeps as a floating-point number of %d bits", fk.Child.Type, fk.Child.Bits-1)
			}
		}
	}
	p.count()
	p.note(Widen, "Every integer column of SQLite has 64 bits: there is nothing to widen.")
	p.note(Readers, "Ship readers that take 64 bits before the next phase: int64 in Go, strings in JSON.")
	p.note(Fence, "From here on a writer that sends no key fails. On SQLite this has to come before the first generated key, which would move the counter beyond it.")
	p.note(SwitchOn, "The database needs no change. Deploy writers that send generated keys, and apply the next phase when all of them do.")
	p.note(Drop, "Each table is rebuilt in one transaction: writers wait until it is copied.")
	p.note(Guard, "A writer that sends a key below %d fails, unless the row is there already: an upsert of an old row goes through.", p.options.Floor)
	for _, k := range p.keys {
		if !p.fenced(k) {
			s := p.sqliteFence(k)
			s.Unit = p.begin()
			p.add(Fence, s)
		}
	}
	for _, k := range p.keys {
		if err := p.sqliteRebuild(ctx, conn, k, objects); err != nil {
			return err
		}
	}
	for _, k := range p.keys {
		p.sqliteGuard(k)
	}
	return nil
}

func (p *planner) readSQLiteReferences(ctx context.Context, conn *sql.Conn) error {
	type row struct {
		child    string
		id       int
		parent   string
		from, to string
		onUpdate string
		onDelete string
	}
	rows, err := database.List(ctx, conn, sqliteReferences, func(r *row) []any {
		return []any{&r.child, &r.id, &r.parent, &r.from, &r.to, &r.onUpdate, &r.onDelete}
	})
	if err != nil {
		return err
	}
	var last row
	for _, r := range rows {
		if r.child != last.child || r.id != last.id {
			p.references = append(p.references, reference{Child: catalog.Name{Schema: "main", Name: r.child}, Parent: catalog.Name{Schema: "main", Name: r.parent}, OnUpdate: r.onUpdate, OnDelete: r.onDelete, Valid: true})
		}
		last = r
		reference := &p.references[len(p.references)-1]
		// These names have the spelling of the foreign key, whereas the report has the
		// spelling of the tables, so we convert them.
		for _, k := range p.keys {
			if ddl.Lower(k.Column.Table.Name) == ddl.Lower(r.parent) {
				reference.Parent.Name = k.Column.Table.Name
				if r.to == "" || ddl.Lower(r.to) == ddl.Lower(k.Column.Name) {
					r.to = k.Column.Name
				}
			}
			for _, fk := range k.ForeignKeys {
				if fk.Child.Table.Name == r.child && ddl.Lower(fk.Child.Name) == ddl.Lower(r.from) {
					r.from = fk.Child.Name
					reference.Parent.Name = fk.Parent.Table.Name
					if r.to == "" || ddl.Lower(r.to) == ddl.Lower(fk.Parent.Name) {
						r.to = fk.Parent.Name
					}
				}
			}
		}
		reference.Columns = append(reference.Columns, r.from)
		reference.Keys = append(reference.Keys, r.to)
	}
	return nil
}

// refuseOrphans refuses a database in which some rows have no parent. After a rebuild
// we couldn't tell these rows from rows that the rebuild itself broke.
func (p *planner) refuseOrphans(ctx context.Context, conn *sql.Conn) error {
	type orphan struct {
		table  string
		rowid  sql.Null[int64]
		parent string
	}
	orphans, err := database.List(ctx, conn, sqliteOrphans, func(o *orphan) []any { return []any{&o.table, &o.rowid, &o.parent} })
	if err != nil {
		return err
	}
	for _, o := range orphans {
		p.refuse(catalog.Column{Table: catalog.Name{Schema: "main", Name: o.table}, Name: "rowid"}, "see PRAGMA foreign_key_check for all, and mend or delete them",
			"its row %d references a row of %q that is not there", o.rowid.V, o.parent)
	}
	return nil
}

// sqliteFence returns a step that rejects rows without a key. According to the SQLite
// documentation, the key that a trigger sees in such a row is undefined, but it has
// been -1 in every version so far.
func (p *planner) sqliteFence(k catalog.Key) Step {
	return p.sqliteTrigger(k, database.FencePrefix, "refuse rows of "+p.name(k.Column.Table)+" that come without a key",
		"coalesce(NEW."+p.Quote(k.Column.Name)+", -1) = -1", "this row came without")
}

// sqliteTrigger returns a step that rejects new rows of a table if they meet a
// condition.
func (p *planner) sqliteTrigger(k catalog.Key, prefix, text, condition, what string) Step {
	table := k.Column.Table
	name := database.Own(prefix, table.Name)
	trigger := p.name(catalog.Name{Schema: table.Schema, Name: name})
	return Step{
		Text: text,
		SQL: fmt.Sprintf("CREATE TRIGGER %s BEFORE INSERT ON %s WHEN %s BEGIN SELECT RAISE(ABORT, %s); END",
			trigger, p.Quote(table.Name), condition, p.Literal("snowkey: "+table.Name+"."+k.Column.Name+" is to be generated, and "+what)),
		Done:  fmt.Sprintf("SELECT count(*) FROM main.sqlite_master WHERE type = 'trigger' AND name = %s", p.Literal(name)),
		Locks: "writers for a moment", Lasting: true, Undo: []string{"DROP TRIGGER IF EXISTS " + trigger},
	}
}

func (p *planner) sqliteRebuild(ctx context.Context, conn *sql.Conn, k catalog.Key, objects []sqliteObject) error {
	table := k.Column.Table
	temporary := catalog.Name{Schema: table.Schema, Name: database.Own("snowkey_new", table.Name)}
	strict, err := database.One(ctx, conn, sqliteStrict, func(n *int) []any { return []any{n} }, table.Name)
	if err != nil {
		return err
	}
	columns, err := database.List(ctx, conn, sqliteStored, database.Text, table.Name)
	if err != nil {
		return err
	}
	var create, was string // create the new table, and the old one under the same temporary name
	var again []sqliteObject
	for _, o := range objects {
		own := ddl.Lower(o.table) == ddl.Lower(table.Name)
		switch {
		case o.kind == "table" && own:
			if create, err = withoutCounter(o.sql, k.Column.Name, p.name(temporary), strict == 1); err != nil {
				p.refuse(k.Column, "rebuild its table by hand, with the key as BIGINT NOT NULL PRIMARY KEY", "%v", err)
			}
			was = renamed(o.sql, p.name(temporary))
		case o.name == temporary.Name:
			p.refuse(k.Column, "drop it or rename it", "there is a table %s, as the rebuilt one is called while it is made", p.name(temporary))
		case own && (o.kind == "index" || o.kind == "trigger"):
			if o.name != database.Own(database.FencePrefix, table.Name) && o.name != database.Own(database.GuardPrefix, table.Name) {
				again = append(again, o)
			}
		}
		if o.kind == "table" && searches(o.sql, table.Name, k.Column.Name) {
			p.refuse(k.Column, fmt.Sprintf("drop %s and its triggers, apply the plan, create it again with content_rowid=%s, and rebuild it", p.Quote(o.name), p.Quote(k.Column.Name)),
				"the search index %s finds rows by the rowid of the table, which is another number than the key once the table is rebuilt", p.Quote(o.name))
		}
		// The new table has a hidden rowid, which is not the key.
		if (o.kind == "view" || o.kind == "trigger") && names(o.sql, table.Name) && usesRowid(o, table.Name) && !slices.Contains([]string{"rowid", "oid", "_rowid_"}, ddl.Lower(k.Column.Name)) {
			p.refuse(k.Column, fmt.Sprintf("have it use %s", p.Quote(k.Column.Name)), "the %s %q uses the rowid of a table by that name, which is not the key any more once the table is rebuilt", o.kind, o.name)
		}
	}
	list := p.List(columns)
	unit := p.begin()
	add := func(s Step) {
		s.Unit = unit
		s.Locks = "all writers of the file until the transaction ends"
		p.add(Drop, s)
	}
	copy := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s", p.name(temporary), list, list, p.name(table))
	drop := "DROP TABLE " + p.name(table)
	rename := fmt.Sprintf("ALTER TABLE %s RENAME TO %s", p.name(temporary), p.Quote(table.Name))
	undo := []string{was, copy, drop, rename, p.sqliteFence(k).SQL}
	if k.Mechanism == catalog.Autoincrement {
		undo = append(undo, fmt.Sprintf("UPDATE main.sqlite_sequence SET seq = max(seq, coalesce(%s NULL, seq)) WHERE name = %s", counted, p.Literal(table.Name)))
	}
	for _, o := range again {
		undo = append(undo, strings.TrimRight(o.sql, "; \n\t"))
	}
	add(Step{
		Text: "create a new " + p.name(table) + " with a key that does not count", SQL: create, Undo: undo,
		Before: []string{"PRAGMA foreign_keys = OFF", "PRAGMA legacy_alter_table = ON"},
		Done: fmt.Sprintf("SELECT count(*) FROM pragma_table_info(%s, 'main') WHERE name = %s AND upper(type) <> 'INTEGER'",
			p.Literal(table.Name), p.Literal(k.Column.Name)), Lasting: true,
	})
	if k.Mechanism == catalog.Autoincrement {
		add(Step{
			Text: "keep where its counter stands, for undo", Run: Count,
			SQL: fmt.Sprintf("SELECT coalesce(max(seq), 0) FROM main.sqlite_sequence WHERE name = %s", p.Literal(table.Name)),
		})
	}
	add(Step{Text: "copy its rows", Rewrites: "the whole table and its indexes", SQL: copy})
	add(Step{
		Text: "check that no row is missing", Run: Check,
		SQL: fmt.Sprintf("SELECT old.n AS old, new.n AS new FROM (SELECT count(*) AS n FROM %s) AS old, (SELECT count(*) AS n FROM %s) AS new WHERE old.n <> new.n",
			p.name(table), p.name(temporary)),
	})
	add(Step{Text: "drop the old table, with its indexes and triggers", SQL: drop})
	add(Step{Text: "give the new one its name; views and triggers of other tables stay as they are", SQL: rename})
	for _, o := range again {
		add(Step{Text: fmt.Sprintf("create the %s %s again", o.kind, p.Quote(o.name)), SQL: strings.TrimRight(o.sql, "; \n\t")})
	}
	var checks []string
	for _, name := range p.tiedTo(table) {
		checks = append(checks, fmt.Sprintf(`SELECT "table", rowid, parent FROM pragma_foreign_key_check(%s, %s)`, p.Literal(name.Name), p.Literal(name.Schema)))
	}
	add(Step{
		Text: "check that no foreign key to or from the table is broken", Run: Check,
		SQL:   strings.Join(checks, "\nUNION ALL "),
		After: []string{"PRAGMA legacy_alter_table = OFF", "PRAGMA foreign_keys = ON"},
	})
	return nil
}

// tiedTo returns a table along with the tables that reference it.
func (p *planner) tiedTo(table catalog.Name) []catalog.Name {
	tables := []catalog.Name{table}
	for _, r := range p.references {
		if ddl.Lower(r.Parent.Name) == ddl.Lower(table.Name) && !slices.Contains(tables, r.Child) {
			tables = append(tables, r.Child)
		}
	}
	return tables
}

func (p *planner) sqliteGuard(k catalog.Key) {
	table, column := k.Column.Table, p.Quote(k.Column.Name)
	if p.guarded(k, table) {
		return
	}
	s := p.sqliteTrigger(k, database.GuardPrefix, fmt.Sprintf("refuse new rows of %s with a key below %d", p.name(table), p.options.Floor),
		fmt.Sprintf("NEW.%s < %d AND NOT EXISTS (SELECT 1 FROM %s WHERE %[1]s = NEW.%[1]s)", column, p.options.Floor, p.Quote(table.Name)),
		"this key was not")
	s.Unit = p.begin()
	p.add(Guard, s)
}
