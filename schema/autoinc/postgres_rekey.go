package autoinc

import (
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
func rekeyPostgres(ctx context.Context, conn *sql.Conn, p *planner) error {
	pg := postgresPlanner{planner: p, phase: Rekey}
	if err := pg.read(ctx, conn); err != nil {
		return err
	}
	r, err := p.rekeyPlan(ctx, conn)
	if err != nil {
		return err
	}
	parents, err := database.List(ctx, conn, p.query("with heirs"), tableName)
	if err != nil {
		return err
	}
	pg.widened = r.byTable
	for _, c := range r.all() {
		pg.refuseAlter(c)
		if !p.options.Online && slices.Contains(parents, c.Table) { // see refuseOnline
			p.refuse(c, "leave out the table of the key (Except, --except)", "its table has heirs, whose rows would become its own")
		}
		for _, name := range pg.publications {
			p.refuse(c, "drop it, apply the phase rekey, copy the tables to the subscribers again, and create it again", "the publication %s would send all rows to its subscribers", p.Quote(name))
		}
	}
	for _, k := range p.keys {
		if k.Mechanism != "" {
			pg.refuseCounter(k)
		}
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
	pg.rekey(r)
	return nil
}

// fillKeys plans what comes before the transaction while the application runs: new columns for
// the new keys, which are filled from the maps, with their indexes.
func (p *postgresPlanner) fillKeys(ctx context.Context, conn *sql.Conn, r rekeying) error {
	p.rekeying = &r
	if err := p.chooseParts(ctx, conn); err != nil {
		return err
	}
	if err := p.refuseOnline(ctx, conn); err != nil {
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
		p.makeParts(table)
		if kept := r.kept(table); kept != "" && !p.partitioned[table] {
			p.indexAlone(&postgresPart{table: table, name: table.Name + "_" + kept, unique: "UNIQUE ", definition: "btree (" + p.Quote(kept) + ")"})
		}
	}
	return nil
}

func (p *postgresPlanner) rekey(r rekeying) {
	tx := p.transaction(Rekey, againstAll, r.references, r.tables...)
	tx.add(p.checkUndo(r))
	views := p.dropViews(tx, r.all()[0], r.tables...)
	var again []Step
	empty := make(map[catalog.Name][]Step) // what is done while a table has no rows
	for _, f := range r.references {
		drop, add := p.alter(f.Child)+"DROP CONSTRAINT "+p.Quote(f.Name), p.restoreReference(f)
		tx.exec("drop the foreign key "+p.Quote(f.Name)+", which is added again below", drop, add)
		if p.options.Online {
			add = p.addReference(f)
		}
		s := Step{Text: "add the foreign key " + p.Quote(f.Name) + " again", SQL: add, Undo: []string{drop}}
		if p.keeps(f, r) {
			empty[f.Child] = append(empty[f.Child], s)
		} else {
			again = append(again, s)
		}
	}
	for _, k := range p.keys {
		if c := p.columns[bare(k.Column)]; c.identity != "" || c.expression != "" {
			p.dropCounter(tx, k, c.identity != "")
			for _, member := range p.family(k.Column.Table) { // the new column gets none of that
				c := p.in(member, k.Column)
				c.identity, c.expression = "", ""
				p.columns[bare(c.Column)] = c
			}
		}
	}
	if p.options.Online {
		for _, table := range r.tables {
			p.swapKeys(tx, table, r)
		}
	} else {
		p.rewrite(tx, r, empty)
	}
	tx.add(again...)
	tx.add(views...)
	if p.options.Online {
		for _, f := range r.references {
			p.validateReference(f)
		}
	}
}

// rewrite writes the rows of all tables again, and does what is to be done while each is empty.
func (p *postgresPlanner) rewrite(tx transaction, r rekeying, empty map[catalog.Name][]Step) {
	r.lost = lost
	tx.exec("make the function that refuses a value without a new key", fmt.Sprintf("CREATE FUNCTION %s RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS %s", lost+"(text, text)",
		p.Literal("BEGIN RAISE EXCEPTION '% has the value %, which has no new key: "+unmappedRemedy+"', $1, $2; END")))
	if len(empty) > 0 {
		tx.exec("write rows again without checking foreign keys", "SET LOCAL session_replication_role = replica")
	}
	for _, table := range r.tables {
		steps := p.rewriting(table, r, "old", "new", empty[table]...)
		steps[0].Undo = statements(p.rewriting(table, r, "new", "old"))
		tx.add(steps...)
	}
	if len(empty) > 0 {
		tx.exec("check foreign keys from here on", "SET LOCAL session_replication_role TO DEFAULT")
	}
	tx.exec("drop the function", "DROP FUNCTION "+lost+"(text, text)")
}

// keeps reports whether a foreign key can be added again while its child is empty, after its
// parent was written again. It held before, and both ends get their new keys from the same map,
// which has each old and each new key once. To check it would take a fifth of the phase.
func (p *postgresPlanner) keeps(f catalog.Reference, r rekeying) bool {
	i := slices.Index(r.tables, f.Child)
	return i >= 0 && p.silent && f.Valid && !p.options.Online && p.whole(f) && !p.partitioned[f.Child] && !p.partitioned[f.Parent] && !slices.Contains(r.tables[i:], f.Parent)
}

// swapKeys replaces the old columns of a table with the new ones, which have the new keys.
func (p *postgresPlanner) swapKeys(tx transaction, table catalog.Name, r rekeying) {
	for _, c := range r.columns[table] {
		tx.add(p.checkMapped(c, r, "t."+p.Quote(p.fresh(c))+" IS NULL"))
	}
	p.swapColumns(tx, table, statements(p.rewriting(table, r, "new", "old")), nil)
	if kept := r.kept(table); kept != "" && p.partitioned[table] {
		tx.exec("make an index of the old keys", fmt.Sprintf("CREATE INDEX ON %s (%s)", p.name(table), p.Quote(kept)))
	}
}

// rewritten is a copy of a table, which has the other keys already. lost is a function that fails.
const rewritten, lost = "pg_temp.snowkey_rows", "pg_temp.snowkey_lost"

// rewriting returns the steps that write the rows of a table again, with their new or old keys,
// and what is done while it is empty.
func (p *postgresPlanner) rewriting(table catalog.Name, r rekeying, from, to string, empty ...Step) []Step {
	columns, name, kept := r.columns[table], p.name(table), r.kept(table)
	var aside, back []Step // triggers, and indexes, which are faster to build at once
	for _, member := range p.family(table) {
		for _, x := range p.partsOf(member, indexKinds+"t") {
			if x.kind != "t" && (p.partitioned[table] || x.problems != "") {
				continue
			}
			aside = append(aside, Step{Text: "drop or disable " + p.Quote(x.name) + " until the rows are back", SQL: x.drop})
			back = append(back, x.again...)
		}
	}
	names, values, joins := r.copied(p.server, table, slices.Sorted(slices.Values(p.stored(table))), from, to) // undo puts columns last, and the plan must stay the same
	for i, name := range names {
		values[i] += " AS " + p.Quote(name)
	}
	alter := p.altered(columns, func(c catalog.Column) string {
		if to == "old" {
			return c.Type + " USING NULL"
		}
		return "bigint USING NULL"
	})
	switch {
	case kept == "":
	case to == "old":
		alter += ", DROP COLUMN " + p.Quote(kept)
	default:
		alter += ", ADD COLUMN " + p.Quote(kept) + " " + r.keys[table].Column.Type
		unique := "UNIQUE "
		if p.partitioned[table] {
			unique = "" // a unique index of a partitioned table must have the columns that divide it
		}
		back = append(back, Step{Text: "make an index of the old keys", SQL: fmt.Sprintf("CREATE %sINDEX ON %s (%s)", unique, name, p.Quote(kept))})
	}
	return slices.Concat([]Step{{
		Text: "look up the new keys of " + name, Locks: fmt.Sprintf(postgresExclusive, name),
		SQL: fmt.Sprintf("CREATE TEMPORARY TABLE snowkey_rows AS SELECT %s FROM %s AS t%s", strings.Join(values, ", "), name, joins),
	}}, aside, []Step{
		{Text: "empty the table", SQL: "TRUNCATE " + name},
		{Text: "change its columns", SQL: alter},
	}, empty, []Step{
		{
			Text: "put the rows back, with their new keys", Rewrites: "the whole table and all of its indexes", Copies: name,
			SQL: fmt.Sprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %[2]s FROM %[3]s", name, p.List(names), rewritten),
		},
	}, back, []Step{
		{Text: "let the server know the sizes, to check foreign keys faster", SQL: "ANALYZE " + name},
		p.sameRows(rewritten, name),
		{Text: "drop the copy", SQL: "DROP TABLE " + rewritten},
	})
}
