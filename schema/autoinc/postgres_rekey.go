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

// rekeyPostgres plans one transaction, in which each table is rewritten once. Functions look
// up the new keys, and for an undo the old ones.
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
	}
	for _, k := range p.keys {
		if k.Mechanism != "" {
			pg.refuseCounter(k)
		}
	}
	pg.rekey(r)
	return nil
}

func (p *postgresPlanner) rekey(r rekeying) {
	touched := slices.Clone(r.references)
	for _, table := range r.tables {
		touched = append(touched, catalog.Reference{Child: table, Parent: table}) // to lock it too
	}
	tx := p.transaction(Rekey, againstAll, r.tables[0], touched)
	for _, c := range r.all() {
		tx.add(p.checkMapped(c, r))
	}
	tx.add(p.checkUndo())
	var views []postgresView
	for _, table := range r.tables {
		for _, v := range p.viewsOf(table) {
			if !slices.ContainsFunc(views, func(other postgresView) bool { return other.name == v.name }) {
				views = append(views, v)
			}
		}
	}
	p.dropViews(tx, r.all()[0], views)
	var again []Step
	for _, f := range r.references {
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
		tx.exec("make a function that finds new keys of "+p.name(k.Column.Table), p.lookup(k.Column, "new"), "DROP FUNCTION "+p.lookupName(k.Column, "new"))
		tx.exec("the same for old keys, to reverse this", p.lookup(k.Column, "old"), "DROP FUNCTION "+p.lookupName(k.Column, "old"))
	}
	for _, table := range r.tables {
		p.rekeyTable(tx, table, r)
	}
	for _, k := range p.keys {
		for _, what := range []string{"new", "old"} {
			tx.exec("drop the function", "DROP FUNCTION "+p.lookupName(k.Column, what), p.lookup(k.Column, what))
		}
	}
	for _, s := range again {
		tx.add(s)
	}
	p.makeViews(tx, views)
}

// rekeyTable rewrites a table with its new keys.
func (p *postgresPlanner) rekeyTable(tx transaction, table catalog.Name, r rekeying) {
	columns, name := r.columns[table], p.name(table)
	find := func(what string) func(c catalog.Column) string {
		return func(c catalog.Column) string {
			key, kind := r.keys[exactPlace(c)].Column, "bigint"
			function := strings.TrimSuffix(p.lookupName(key, what), "("+p.argument(key, what)+")")
			if what == "old" {
				kind = c.Type
			}
			return fmt.Sprintf("%s USING %s(%s::%s)::%[1]s", kind, function, p.Quote(c.Name), p.argument(key, what))
		}
	}
	tx.add(Step{
		Text: "replace " + p.List(namesOf(columns)) + " of " + name, SQL: p.altered(columns, find("new")),
		Locks: fmt.Sprintf(postgresExclusive, name), Rewrites: "the whole table and all of its indexes", Copies: name,
		Undo: []string{p.altered(columns, find("old"))},
	})
}

// argument returns the type of what a function takes that finds old or new keys.
func (p *postgresPlanner) argument(key catalog.Column, what string) string {
	if what == "new" {
		return key.Type
	}
	return "bigint"
}

// lookupName returns the name of a function that finds old or new keys, with its argument.
func (p *postgresPlanner) lookupName(key catalog.Column, what string) string {
	return p.name(catalog.Name{Schema: key.Table.Schema, Name: database.Own("snowkey_"+what, key.Table.Name)}) + "(" + p.argument(key, what) + ")"
}

// lookup returns SQL that creates such a function. It fails if there is no such key.
func (p *postgresPlanner) lookup(key catalog.Column, what string) string {
	result, by := "bigint", "old"
	if what == "old" {
		result, by = key.Type, "new"
	}
	return fmt.Sprintf("CREATE FUNCTION %s RETURNS %s LANGUAGE plpgsql STABLE STRICT AS %s", p.lookupName(key, what), result, p.Literal(fmt.Sprintf(
		"DECLARE found %s; BEGIN SELECT m.%s INTO STRICT found FROM %s AS m WHERE m.%s = $1; RETURN found; END", result, what, p.name(mapName(key.Table)), by)))
}
