package autoinc

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// rekeySQLite plans one transaction, in which each table is replaced by a copy with new keys.
func rekeySQLite(ctx context.Context, conn *sql.Conn, p *planner) error {
	lite, err := newSQLitePlanner(ctx, conn, p)
	if err != nil || lite == nil {
		return err
	}
	r, err := p.rekeyPlan(ctx, conn, func(table catalog.Name) catalog.Name { return table })
	if err != nil {
		return err
	}
	lite.rekey(r)
	return nil
}

func (p *sqlitePlanner) rekey(r rekeying) {
	unit := p.begin()
	add := func(s Step) {
		s.Unit, s.Locks = unit, "all writers of the file until the transaction ends"
		p.add(Rekey, s)
	}
	first := p.checkUndo()
	first.Before = []string{"PRAGMA foreign_keys = OFF", "PRAGMA legacy_alter_table = ON"}
	add(first)
	for _, c := range r.all() {
		add(p.checkMapped(c, r))
	}
	for _, table := range r.tables {
		p.rekeyTable(add, table, r)
	}
	var broken []string
	for _, table := range r.tables {
		broken = append(broken, p.brokenReferences(table))
	}
	add(Step{
		Text: "check that no foreign key is broken", Run: Check, SQL: strings.Join(broken, "\nUNION ALL "),
		After: []string{"PRAGMA legacy_alter_table = OFF", "PRAGMA foreign_keys = ON"},
	})
}

// rekeyTable replaces a table.
func (p *sqlitePlanner) rekeyTable(add func(Step), table catalog.Name, r rekeying) {
	columns, key := r.columns[table], catalog.Key{}
	for _, k := range p.keys {
		if k.Column.Table == table {
			key = k
		}
	}
	fresh := catalog.Name{Schema: table.Schema, Name: database.Own("snowkey_new", table.Name)}
	old, temporary := p.name(table), p.name(fresh)
	create, was, again := p.retyped(columns, key, temporary)
	drop, rename := "DROP TABLE "+old, fmt.Sprintf("ALTER TABLE %s RENAME TO %s", temporary, p.Quote(table.Name))
	copy := func(from, to string) string {
		names := p.tables[table.Name].columns
		values := joined(names, ", ", func(_ int, name string) string {
			i := slices.IndexFunc(columns, func(c catalog.Column) bool { return c.Name == name })
			if i < 0 {
				return "t." + p.Quote(name)
			}
			return fmt.Sprintf("(SELECT m.%s FROM %s AS m WHERE m.%s = t.%s)", to, r.mapOf(p.server, columns[i]), from, p.Quote(name))
		})
		return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s AS t", temporary, p.List(names), values, old)
	}
	undo := []string{was, copy("new", "old"), drop, rename}
	if key.Mechanism == catalog.Autoincrement {
		add(Step{
			Text: "keep where the counter of " + old + " stands, for undo", Run: Count,
			SQL: fmt.Sprintf("SELECT coalesce(max(seq), 0) FROM main.sqlite_sequence WHERE name = %s", p.Literal(table.Name)),
		})
		undo = append(undo, fmt.Sprintf("UPDATE main.sqlite_sequence SET seq = max(seq, coalesce(%s NULL, seq)) WHERE name = %s", counted, p.Literal(table.Name)))
	}
	for _, o := range again {
		undo = append(undo, o.sql)
	}
	add(Step{Text: "create a new " + old + " with integer keys", SQL: create, Undo: undo})
	add(Step{Text: "copy its rows with their new keys", Rewrites: "the whole table and its indexes", Copies: old, SQL: copy("old", "new")})
	add(Step{
		Text: "check that no row is missing", Run: Check,
		SQL: fmt.Sprintf("SELECT old.n AS old, new.n AS new FROM (SELECT count(*) AS n FROM %s) AS old, (SELECT count(*) AS n FROM %s) AS new WHERE old.n <> new.n", old, temporary),
	})
	add(Step{Text: "drop the old table, with its indexes and triggers", SQL: drop})
	add(Step{Text: "give the new one its name; views and triggers of other tables stay as they are", SQL: rename})
	for _, o := range again {
		add(Step{Text: fmt.Sprintf("create the %s %s again", o.kind, p.Quote(o.name)), SQL: o.sql})
	}
}

// retyped returns the SQL that creates the new table, and the old one under the same temporary
// name, and the indexes and triggers that are created again.
func (p *sqlitePlanner) retyped(columns []catalog.Column, key catalog.Key, temporary string) (create, was string, again []sqliteObject) {
	table := columns[0].Table
	for _, o := range p.objects {
		own := ddl.Lower(o.table) == ddl.Lower(table.Name)
		if key.Mechanism != "" {
			p.refuseObject(key, o)
		}
		switch {
		case o.kind == "table" && own:
			var err error
			if create, err = retyped(o.sql, namesOf(columns), temporary, p.tables[table.Name].strict); err != nil {
				p.refuse(columns[0], "leave out the table of the key (Except, --except)", "%v", err)
			}
			was = renamed(o.sql, temporary)
		case own:
			o.sql = strings.TrimRight(o.sql, "; \n\t")
			again = append(again, o)
		}
	}
	return create, was, again
}
