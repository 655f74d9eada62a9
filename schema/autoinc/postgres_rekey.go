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
	pg := postgresPlanner{planner: p, phase: Rekey}
	if err := pg.read(ctx, conn); err != nil {
		return err
	}
	r, err := p.rekeyPlan(ctx, conn, pg.root)
	if err != nil {
		return err
	}
	pg.widened = r.byTable
	for _, c := range r.all() {
		pg.refuseAlter(c)
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
	err = database.ReadAll(ctx, conn, database.Into(&triggers, p.query("triggers"), (*rowTrigger).dest), database.Into(&pg.indexes, p.query("indexes"), (*postgresIndex).dest))
	if err != nil {
		return err
	}
	if p.options.Online {
		if err := pg.fillKeys(ctx, conn, r); err != nil {
			return err
		}
	}
	p.mapLate(r)
	if p.options.Online {
		for _, table := range r.tables {
			pg.fillRows(table, "")
		}
	}
	pg.rekey(r, triggers)
	return nil
}

// fillKeys plans what comes before the transaction while the application runs: new columns for
// the new keys, which are filled from the maps, with their indexes.
func (p *postgresPlanner) fillKeys(ctx context.Context, conn *sql.Conn, r rekeying) error {
	p.rekeying = &r
	if err := p.readParts(ctx, conn); err != nil {
		return err
	}
	if err := p.readOnline(ctx, conn); err != nil {
		return err
	}
	p.note(Rekey, "Afterwards the columns are the last of their tables: first change every INSERT that names no columns and every reader that depends on their order.")
	for _, table := range r.tables {
		p.prepare(table)
	}
	for _, table := range r.tables {
		p.fillRows(table, p.name(table))
		for _, c := range r.columns[table] {
			joins, value := r.join(p.server, c, 0, "old", "new", "NULL")
			p.add(Rekey, Step{
				Text: "prove that " + p.column(c) + " has the new keys of the map beside it", Run: Check, Locks: "nothing; it reads the table once",
				Unit:   p.begin(), // so that it isn't repeated when the columns are replaced
				SQL:    fmt.Sprintf("SELECT t.%s FROM %s AS t%s WHERE t.%s IS DISTINCT FROM %s LIMIT 1", p.Quote(c.Name), p.name(table), joins, p.Quote(p.fresh(c)), value),
				Remedy: "rows were changed without triggers; call snowkey migrate undo --phase rekey, and apply again",
			})
		}
		p.check(table)
		p.index(table)
		if kept := r.kept(table); kept != "" && !p.partitioned[table] {
			p.indexAlone(&postgresIndex{table: table, name: table.Name + "_" + kept, unique: true, method: "btree (" + p.Quote(kept) + ")"})
		}
	}
	return nil
}

// A rowTrigger is a trigger with the word that enables it as it is.
type rowTrigger struct {
	table      catalog.Name
	name, word string
}

func (t *rowTrigger) dest() []any { return []any{&t.table.Schema, &t.table.Name, &t.name, &t.word} }

func (p *postgresPlanner) rekey(r rekeying, triggers []rowTrigger) {
	var touched []catalog.Reference
	for _, table := range r.tables {
		touched = append(touched, catalog.Reference{Child: table, Parent: table}) // to lock it too
	}
	tx := p.transaction(Rekey, againstAll, r.tables[0], append(touched, r.references...))
	tx.add(p.checkUndo(r))
	views := p.viewsOf(r.tables...)
	p.dropViews(tx, r.all()[0], views)
	var again []Step
	for _, f := range r.references {
		drop, add := p.alter(f.Child)+"DROP CONSTRAINT "+p.Quote(f.Name), p.alter(f.Child)+"ADD "+p.constraint(f)
		unchecked := add + " NOT VALID"
		if !f.Valid {
			add = unchecked
		}
		tx.exec("drop the foreign key "+p.Quote(f.Name)+", which is added again below", drop, add)
		if p.options.Online && !p.partitioned[f.Child] {
			add = unchecked
		}
		again = append(again, Step{Text: "add the foreign key " + p.Quote(f.Name) + " again", SQL: add, Undo: []string{drop}})
	}
	for _, k := range p.keys {
		fact := p.facts[exactPlace(k.Column)]
		if fact.identity != "" || fact.expression != "" {
			p.dropCounter(tx, k, fact.identity != "")
			for _, member := range p.family(k.Column.Table) { // the new column gets none of that
				fact := p.fact(member, k.Column)
				fact.identity, fact.expression = "", ""
				p.facts[exactPlace(fact.Column)] = fact
			}
		}
	}
	for _, table := range r.tables {
		undo := append(p.rewriting(table, r, triggers, "new", "old"), "DROP TABLE "+rewritten)
		if p.options.Online {
			p.swapKeys(tx, table, r, undo)
		} else {
			p.rekeyTable(tx, table, r, p.rewriting(table, r, triggers, "old", "new"), undo)
		}
	}
	for _, s := range again {
		tx.add(s)
	}
	p.makeViews(tx, views)
	if p.options.Online {
		for _, f := range r.references {
			p.validateReference(f)
		}
		p.addLater()
	}
}

// swapKeys replaces the old columns of a table with the new ones, which have the new keys.
func (p *postgresPlanner) swapKeys(tx transaction, table catalog.Name, r rekeying, undo []string) {
	for _, c := range r.columns[table] {
		tx.add(p.checkMapped(c, r, "t."+p.Quote(p.fresh(c))+" IS NULL"))
	}
	p.swapColumns(tx, table, undo, nil)
	if kept := r.kept(table); kept != "" && p.partitioned[table] {
		tx.exec("make an index of the old keys", fmt.Sprintf("CREATE INDEX ON %s (%s)", p.name(table), p.Quote(kept)))
	}
}

// rewritten is a copy of a table, which has the other keys already.
const rewritten = "pg_temp.snowkey_rows"

// rewriting returns SQL that writes the rows of a table again, with their new or old keys.
func (p *postgresPlanner) rewriting(table catalog.Name, r rekeying, triggers []rowTrigger, from, to string) []string {
	columns, name := r.columns[table], p.name(table)
	var disable, enable []string // triggers, and indexes, which are faster to build at once
	indexes, _ := p.partsOf(table)
	for _, x := range indexes {
		if p.partitioned[table] || x.problems != "" {
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
	kind := func(c catalog.Column) string {
		if to == "old" {
			return c.Type
		}
		return "bigint"
	}
	var names, values, lost, joins, index []string
	alter := ""
	switch key, kept := r.keys[table], r.kept(table); {
	case kept == "":
	case to == "old":
		alter = ", DROP COLUMN " + p.Quote(kept)
	default:
		names, values = []string{kept}, []string{"t." + p.Quote(key.Column.Name) + " AS " + p.Quote(kept)}
		alter = ", ADD COLUMN " + p.Quote(kept) + " " + key.Column.Type
		unique := "UNIQUE "
		if p.partitioned[table] {
			unique = "" // a unique index of a partitioned table must have the columns that divide it
		}
		index = []string{fmt.Sprintf("CREATE %sINDEX ON %s (%s)", unique, name, p.Quote(kept))}
	}
	for _, c := range p.of[table] {
		if c.computed {
			continue
		}
		value := "t." + p.Quote(c.Name)
		if has(columns, c.Column) {
			join, other := r.join(p.server, c.Column, len(lost), from, to, "NULL")
			joins = append(joins, join)
			lost = append(lost, value+" IS NOT NULL AND "+other+" IS NULL")
			value = other + " AS " + p.Quote(c.Name)
		}
		names, values = append(names, c.Name), append(values, value)
	}
	return slices.Concat([]string{fmt.Sprintf("CREATE TEMPORARY TABLE snowkey_rows AS SELECT %s, %s AS snowkey_lost FROM %s AS t%s", strings.Join(values, ", "), strings.Join(lost, " OR "), name, strings.Join(joins, ""))}, disable, []string{
		"TRUNCATE " + name,
		p.altered(columns, func(c catalog.Column) string { return kind(c) + " USING NULL" }) + alter,
		fmt.Sprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %[2]s FROM %[3]s", name, p.List(names), rewritten),
	}, enable, index)
}

// rekeyTable adds the statements that write a table again, with what reverses them.
func (p *postgresPlanner) rekeyTable(tx transaction, table catalog.Name, r rekeying, statements, undo []string) {
	name := p.name(table)
	texts := map[string]string{
		"TRUNCATE": "empty the table", "INSERT": "put the rows back, with their new keys",
	}
	for i, sql := range statements {
		verb, _, _ := strings.Cut(sql, " ")
		s := Step{Text: cmp.Or(texts[verb], "change its columns, indexes or triggers"), SQL: sql}
		switch {
		case i == 0:
			s.Text, s.Undo, s.Locks = "look up the new keys of "+name, undo, fmt.Sprintf(postgresExclusive, name)
			tx.add(s)
			for _, c := range r.columns[table] {
				tx.add(p.checkMapped(c, r, "EXISTS (SELECT 1 FROM "+rewritten+" WHERE snowkey_lost)"))
			}
			continue
		case verb == "INSERT":
			s.Rewrites, s.Copies = "the whole table and all of its indexes", name
		}
		tx.add(s)
	}
	tx.add(Step{
		Text: "check that no row is missing", Run: Check,
		SQL: fmt.Sprintf("SELECT old.n AS old, new.n AS new FROM (SELECT count(*) AS n FROM %s) AS old, (SELECT count(*) AS n FROM %s) AS new WHERE old.n <> new.n", rewritten, name),
	})
	tx.exec("drop the copy", "DROP TABLE "+rewritten)
}
