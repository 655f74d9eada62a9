package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// rekeyPostgres plans one transaction, in which the rows of each table are joined with the maps,
// and written again. To look up each key in a USING clause takes five times as long.
func rekeyPostgres(ctx context.Context, conn *sql.Conn, p *planner) (err error) {
	if p.database, err = database.One(ctx, conn, "SELECT current_database()", database.Text); err != nil {
		return err
	}
	pg := postgresPlanner{planner: p}
	if err := pg.read(ctx, conn); err != nil {
		return err
	}
	r, err := p.rekeyPlan(ctx, conn, pg.root)
	if err != nil {
		return err
	}
	pg.widened = r.byTable
	for _, c := range r.all() {
		pg.refuseAlter(c, Rekey)
		for _, name := range pg.publications {
			p.refuse(c, "drop it, apply the phase rekey, copy the tables to the subscribers again, and create it again", "the publication %s would send all rows to its subscribers", p.Quote(name))
		}
	}
	for _, k := range p.keys {
		if k.Mechanism != "" {
			pg.refuseCounter(k)
		}
	}
	var triggers []rowTrigger
	err = database.ReadAll(ctx, conn, database.Into(&triggers, p.query("triggers"), (*rowTrigger).dest), database.Into(&pg.indexes, p.query("indexes"), indexDest))
	pg.rekey(r, triggers)
	return err
}

// A rowTrigger is a trigger with the word that enables it as it is.
type rowTrigger struct {
	table      catalog.Name
	name, word string
}

func (t *rowTrigger) dest() []any { return []any{&t.table.Schema, &t.table.Name, &t.name, &t.word} }

func (p *postgresPlanner) rekey(r rekeying, triggers []rowTrigger) {
	var references, touched []catalog.Reference
	for _, f := range p.report.References { // the others would be checked row by row
		if r.columns[p.root(f.Child)] != nil || r.columns[p.root(f.Parent)] != nil {
			references = append(references, f)
		}
	}
	for _, table := range r.tables {
		touched = append(touched, catalog.Reference{Child: table, Parent: table}) // to lock it too
	}
	tx := p.transaction(Rekey, againstAll, r.tables[0], append(touched, references...))
	tx.add(p.checkUndo(r))
	views := p.viewsOf(r.tables...)
	p.dropViews(tx, r.all()[0], views)
	var again []Step
	for _, f := range references {
		drop, add := p.alter(f.Child)+"DROP CONSTRAINT "+p.Quote(f.Name), p.alter(f.Child)+"ADD "+p.constraint(f)
		if !f.Valid {
			add += " NOT VALID"
		}
		tx.exec("drop the foreign key "+p.Quote(f.Name)+", which is added again below", drop, add)
		again = append(again, Step{Text: "add the foreign key " + p.Quote(f.Name) + " again", SQL: add, Undo: []string{drop}})
	}
	for _, k := range p.keys {
		fact := p.facts[exactPlace(k.Column)]
		if fact.identity != "" || fact.expression != "" {
			p.dropCounter(tx, k, fact.identity != "")
		}
	}
	for _, table := range r.tables {
		p.rekeyTable(tx, table, r, triggers)
	}
	for _, s := range again {
		tx.add(s)
	}
	p.makeViews(tx, views)
}

// rekeyTable writes the rows of a table again, with their new keys.
func (p *postgresPlanner) rekeyTable(tx transaction, table catalog.Name, r rekeying, triggers []rowTrigger) {
	columns, name := r.columns[table], p.name(table)
	const rows = "pg_temp.snowkey_rows"
	var disable, enable []string // triggers, and indexes, which are faster to build at once
	for _, x := range p.indexes {
		if x.table != table || p.members[table] != nil || x.problems != "" {
			continue
		}
		drop := "DROP INDEX " + p.name(catalog.Name{Schema: table.Schema, Name: x.name})
		if x.kind != "" {
			drop = p.alter(table) + "DROP CONSTRAINT " + p.Quote(x.constraint)
		}
		disable, enable = append(disable, drop), append(enable, x.was)
		for _, a := range p.remarks(x) {
			enable = append(enable, a.sql)
		}
	}
	for _, t := range triggers {
		if slices.Contains(p.family(table), t.table) {
			alter := "ALTER TABLE ONLY " + p.name(t.table) + " "
			disable, enable = append(disable, alter+"DISABLE TRIGGER "+p.Quote(t.name)), append(enable, alter+t.word+" "+p.Quote(t.name))
		}
	}
	key, kept := r.keys[table], r.kept(table)
	statements := func(from, to string, kind func(catalog.Column) string) []string {
		var names, values, lost, joins []string
		alter, index := "", []string(nil)
		switch {
		case kept == "":
		case to == "old":
			alter = ", DROP COLUMN " + p.Quote(kept)
		default:
			names, values = []string{kept}, []string{"t." + p.Quote(key.Column.Name) + " AS " + p.Quote(kept)}
			alter = ", ADD COLUMN " + p.Quote(kept) + " " + key.Column.Type
			unique := "UNIQUE "
			if p.members[table] != nil {
				unique = "" // a unique index of a partitioned table must have the columns that divide it
			}
			index = []string{fmt.Sprintf("CREATE %sINDEX ON %s (%s)", unique, name, p.Quote(kept))}
		}
		for _, c := range r.stored[table] {
			value := "t." + p.Quote(c.Name)
			if has(columns, c) {
				join, other := r.join(p.server, c, len(lost), from, to, "NULL")
				joins = append(joins, join)
				lost = append(lost, value+" IS NOT NULL AND "+other+" IS NULL")
				value = other + " AS " + p.Quote(c.Name)
			}
			names, values = append(names, c.Name), append(values, value)
		}
		return slices.Concat([]string{fmt.Sprintf("CREATE TEMPORARY TABLE snowkey_rows AS SELECT %s, %s AS snowkey_lost FROM %s AS t%s", strings.Join(values, ", "), strings.Join(lost, " OR "), name, strings.Join(joins, ""))}, disable, []string{
			"TRUNCATE " + name,
			p.altered(columns, func(c catalog.Column) string { return kind(c) + " USING NULL" }) + alter,
			fmt.Sprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %[2]s FROM %[3]s", name, p.List(names), rows),
		}, enable, index)
	}
	texts := map[string]string{
		"TRUNCATE": "empty the table", "INSERT": "put the rows back, with their new keys",
	}
	undo := append(statements("new", "old", func(c catalog.Column) string { return c.Type }), "DROP TABLE "+rows)
	for i, sql := range statements("old", "new", func(catalog.Column) string { return "bigint" }) {
		verb, _, _ := strings.Cut(sql, " ")
		s := Step{Text: cmp.Or(texts[verb], "change its columns, indexes or triggers"), SQL: sql}
		switch {
		case i == 0:
			s.Text, s.Undo, s.Locks = "look up the new keys of "+name, undo, fmt.Sprintf(postgresExclusive, name)
			tx.add(s)
			for _, c := range columns {
				tx.add(p.checkMapped(c, r, "EXISTS (SELECT 1 FROM "+rows+" WHERE snowkey_lost)"))
			}
			continue
		case verb == "INSERT":
			s.Rewrites, s.Copies = "the whole table and all of its indexes", name
		}
		tx.add(s)
	}
	tx.add(Step{
		Text: "check that no row is missing", Run: Check,
		SQL: fmt.Sprintf("SELECT old.n AS old, new.n AS new FROM (SELECT count(*) AS n FROM %s) AS old, (SELECT count(*) AS n FROM %s) AS new WHERE old.n <> new.n", rows, name),
	})
	tx.exec("drop the copy", "DROP TABLE "+rows)
}
