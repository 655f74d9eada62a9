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

// rekeyMySQL plans a copy of each table, with the new keys, which takes its place at the end.
// Online, triggers repeat in the copy what writers do until the application is stopped. From
// then on, or all the time, writers are refused, or their rows would be lost.
func rekeyMySQL(ctx context.Context, conn *sql.Conn, p *planner) error {
	my := mysqlPlanner{planner: p, definitions: make(map[catalog.Name][]string)}
	if err := my.read(ctx, conn); err != nil {
		return err
	}
	if err := my.refusePrivileges(ctx, conn); err != nil {
		return err
	}
	r, err := p.rekeyPlan(ctx, conn, func(table catalog.Name) catalog.Name { return table })
	if err != nil {
		return err
	}
	for _, f := range r.references {
		if err := my.define(ctx, conn, f.Child); err != nil {
			return err
		}
	}
	triggers, err := my.ownTriggers(ctx, conn, r)
	if err == nil {
		my.rekey(r, triggers)
	}
	return err
}

func (p *mysqlPlanner) rekey(r rekeying, triggers []ownTrigger) {
	p.note(Rekey, "Beside each table a copy with the new keys is made, which takes its place at the end. Free space for a second copy of all tables is needed. There is no transaction around these statements. Once this phase has begun, complete it or undo it.")
	add := func(steps []Step) {
		for _, s := range steps {
			p.add(Rekey, s)
		}
	}
	var standIns, standDown []Step
	if p.options.Online {
		p.note(Rekey, standInNote)
		standIns, standDown = p.triggerSteps(p.standIns(r.references), "snowkey_fk_", "stand in for foreign keys")
	}
	add(standIns)
	children, byChild := groupByChild(r.references)
	for _, child := range children {
		p.dropReferences(Rekey, child, byChild[child])
	}
	var copies []tableCopy
	var refusals []standIn
	var swap, back, fresh []string
	for _, table := range r.tables {
		c := p.rekeyedCopy(table, r, "old", "new")
		p.refuseCopy(c, r.columns[table][0])
		p.beginCopy(c, r)
		copies = append(copies, c)
		name := p.name(table)
		swap = append(swap, fmt.Sprintf("%s TO %s, %s TO %[1]s", name, p.name(c.old), p.name(c.fresh)))
		back = append(back, fmt.Sprintf("%s TO %s, %s TO %[1]s", name, p.name(c.fresh), p.name(c.old)))
		fresh = append(fresh, fmt.Sprintf("(%s, %s)", p.Literal(c.fresh.Schema), p.Literal(c.fresh.Name)))
		for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
			refusals = append(refusals, standIn{table, "BEFORE " + event, []string{"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowkey: keys are being replaced; stop the application until this is complete'"}})
		}
	}
	p.mapLate(r)
	for _, c := range r.all() {
		s := p.checkMapped(c, r)
		s.Unit = p.begin() // so that it isn't repeated when the values are new
		p.add(Rekey, s)
	}
	refuse, admit := p.triggerSteps(refusals, "snowkey_stop_", "refuse writers")
	add(refuse)
	for _, c := range copies {
		p.add(Rekey, p.missing(c))
		p.proveCopy(Rekey, c)
	}
	for _, t := range slices.Backward(triggers) { // an undo creates them in their order
		drop := dropTrigger + p.name(t.name)
		p.add(Rekey, Step{
			Text: "drop the trigger " + p.name(t.name) + ", to be created again below", SQL: drop, Done: p.triggers(t.name, 0), Locks: "nothing",
			Undo: []string{drop, t.create}, Before: t.before, After: t.after,
		})
	}
	p.add(Rekey, Step{
		Text: "put the copies in the place of their tables", SQL: "RENAME TABLE " + strings.Join(swap, ", "), Undo: []string{"RENAME TABLE " + strings.Join(back, ", ")},
		Done:  "SELECT COUNT(*) = 0 FROM information_schema.TABLES WHERE (TABLE_SCHEMA, TABLE_NAME) IN (" + strings.Join(fresh, ", ") + ")",
		Locks: "readers of the tables for a moment",
	})
	p.add(Rekey, p.checkUndo(r))
	for _, t := range triggers {
		s := p.makeTrigger("create the trigger "+p.name(t.name)+" again", t.name, t.create, "nothing")
		s.Before, s.After = t.before, t.after
		p.add(Rekey, s)
	}
	for _, child := range children {
		p.addReferences(Rekey, child, byChild[child])
	}
	for _, c := range copies {
		p.endCopy(c, r)
	}
	add(standDown)
	add(admit) // of which nothing is left but what an undo does
}

// missing returns a step that copies the rows that the copy doesn't have. Online, these are few.
func (p *mysqlPlanner) missing(c tableCopy) Step {
	if !p.options.Online {
		return p.filling(c)
	}
	ties := joined(c.key, and, func(_ int, name string) string {
		return "n." + p.Quote(name) + " = " + c.values[slices.Index(c.columns, name)]
	})
	c.from += fmt.Sprintf(" LEFT JOIN %s AS n ON %s", p.name(c.fresh), ties)
	c.where += " AND n." + p.Quote(c.key[0]) + " IS NULL"
	s := p.filling(c)
	s.Text, s.Copies = "copy the rows of "+p.name(c.table)+" that had no new key", ""
	return s
}

// rekeyedCopy returns a copy of a table in which columns have the new keys for the old ones, or
// the other way round. It only has rows all of whose keys have a new one.
func (p *mysqlPlanner) rekeyedCopy(table catalog.Name, r rekeying, from, to string) tableCopy {
	c := p.copyOf(table)
	for i, name := range c.columns {
		column := catalog.Column{Table: table, Name: name}
		if !has(r.columns[table], column) {
			continue
		}
		joins, value := r.join(p.server, column, i, from, to, "NULL")
		if c.from += joins; to == "new" {
			c.where += fmt.Sprintf(" AND (%s IS NULL OR %s IS NOT NULL)", c.values[i], value)
		}
		if of := r.held[exactPlace(column)]; len(of) == 1 && len(c.key) > 0 && c.key[0] == name {
			c.batch, c.last = fmt.Sprintf("m%d_0.new", i), p.lastOf(p.name(mapName(of[0].of)), "new")
			// Otherwise small tables are read, and locked, from end to end for each batch.
			c.from = p.name(table) + " AS t FORCE INDEX (PRIMARY)" + strings.TrimPrefix(c.from, p.name(table)+" AS t")
		}
		c.values[i] = value
	}
	if kept := r.kept(table); kept != "" && to == "new" {
		c.columns, c.values = append(c.columns, kept), append(c.values, "t."+p.Quote(r.keys[table].Column.Name))
	}
	return c
}

// beginCopy adds the steps that make the copy. Online, triggers write a row there when each of
// its keys has a new one.
func (p *mysqlPlanner) beginCopy(c tableCopy, r rekeying) {
	actions, _ := p.retyping(c.table, r)
	if checks := p.checks(c.table); len(checks) > 0 { // their names are unique in a schema
		adding := joined(checks, ", ", func(_ int, check string) string { return "ADD " + check })
		actions = append(actions, adding)
		p.add(Rekey, Step{
			Text: "drop the checks of " + p.name(c.table) + ", which the copy gets", Locks: "readers and writers for a moment only",
			SQL:  "ALTER TABLE " + p.name(c.table) + " " + joined(checks, ", ", func(_ int, check string) string { return "DROP CHECK " + p.Quote(ddl.Tokens(check, true)[1].Text) }),
			Done: fmt.Sprintf("SELECT COUNT(*) = 0 FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND CONSTRAINT_TYPE = 'CHECK'", p.Literal(c.table.Schema), p.Literal(c.table.Name)),
			Undo: []string{"ALTER TABLE " + p.name(c.table) + " " + adding},
		})
	}
	p.emptyCopy(Rekey, c, actions)
	if !p.options.Online {
		return
	}
	remove := "DELETE FROM " + p.name(c.fresh) + " WHERE " + joined(c.key, and, func(_ int, name string) string {
		old, column := "OLD."+p.Quote(name), catalog.Column{Table: c.table, Name: name}
		if has(r.columns[c.table], column) {
			old = r.lookup(p.server, column, "OLD")
		}
		return p.Quote(name) + " = " + old
	})
	write := p.insertion(c, joined(c.key, and, func(_ int, name string) string { return "t." + p.Quote(name) + " = NEW." + p.Quote(name) }))
	p.repeatWrites(Rekey, c, remove, remove+"; "+write, write)
	p.add(Rekey, p.filling(c))
}

// endCopy adds the step that drops the old table. An undo makes it again, as a copy that has its
// name when it is complete.
func (p *mysqlPlanner) endCopy(c tableCopy, r rekeying) {
	_, actions := p.retyping(c.table, r)
	for i := range p.checks(c.table) { // which the server has given other names
		actions = append(actions, "DROP CHECK "+p.Quote(fmt.Sprintf("%s_chk_%d", beside(emptyPrefix, c.table).Name, i+1)))
	}
	if slices.ContainsFunc(p.report.Keys, func(k catalog.Key) bool { return k.Column.Table == c.table && k.Mechanism == catalog.AutoIncrement }) {
		actions = append(actions, "AUTO_INCREMENT = "+counted+" 1")
		p.add(Rekey, p.keepCounter(c.table, c.old))
	}
	like, altered := p.emptied(c, actions)
	fill, fresh := p.filling(p.rekeyedCopy(c.table, r, "new", "old")), p.name(c.fresh)
	p.addDDL(Rekey, Step{
		Text: "drop the old table of " + p.name(c.table) + ", with its triggers", SQL: "DROP TABLE IF EXISTS " + p.name(c.old), Locks: "nothing",
		Undo: []string{"DROP TABLE IF EXISTS " + p.name(beside(emptyPrefix, c.table)) + ", " + fresh, like, altered, fill.SQL, "RENAME TABLE " + fresh + " TO " + p.name(c.old)},
		Size: fill.Size, Before: fill.Before, After: fill.After, // for the SQL that fills it
	}, c.old, 0)
}

// An ownTrigger is a trigger of the application, with the SQL that creates it and the settings
// for that.
type ownTrigger struct {
	name          catalog.Name
	create        string
	before, after []string
}

// ownTriggers returns the triggers of the tables that are copied, in order.
func (p *mysqlPlanner) ownTriggers(ctx context.Context, conn *sql.Conn, r rekeying) (all []ownTrigger, err error) {
	type row struct {
		table   catalog.Name
		trigger string
		able    bool
	}
	rows, err := database.List(ctx, conn, p.query("own triggers"), func(t *row) []any { return []any{&t.table.Schema, &t.table.Name, &t.trigger, &t.able} })
	if err != nil {
		return nil, err
	}
	for _, t := range rows {
		if r.columns[t.table] == nil {
			continue
		}
		name := catalog.Name{Schema: t.table.Schema, Name: t.trigger}
		if !t.able {
			p.refuse(r.columns[t.table][0], "let that user plan and apply, or drop it, apply the phase rekey, and create it again", "its trigger %s is another user's, and would have to be created again", p.Quote(t.trigger))
		}
		type definition struct{ mode, create, other string }
		d, err := database.One(ctx, conn, "SHOW CREATE TRIGGER "+p.name(name), func(d *definition) []any {
			return []any{&d.other, &d.mode, &d.create, &d.other, &d.other, &d.other, &d.other}
		})
		if err != nil {
			return nil, err
		}
		all = append(all, ownTrigger{name, d.create,
			[]string{"SET sql_mode = " + p.Literal(d.mode), "USE " + p.Quote(name.Schema)},
			[]string{"SET sql_mode = " + p.Literal(mysqlMode), "USE " + p.Quote(p.database)}})
	}
	return all, nil
}

// retyping returns actions of an ALTER TABLE that give the columns of a copy their new types, and
// those that give them the old ones again.
func (p *mysqlPlanner) retyping(table catalog.Name, r rekeying) (actions, back []string) {
	for _, column := range r.columns[table] {
		was, wide := p.retyped(column)
		actions, back = append(actions, "MODIFY "+wide), append(back, "MODIFY "+was)
	}
	if kept := r.kept(table); kept != "" {
		actions = append(actions, "ADD COLUMN "+p.typed(r.keys[table].Column, kept)+" NULL", "ADD UNIQUE KEY ("+p.Quote(kept)+")")
		back = append(back, "DROP COLUMN "+p.Quote(kept))
	}
	return actions, back
}

// retyped returns the definition of a column as it is, and that of the column in the copy.
func (p *mysqlPlanner) retyped(c catalog.Column) (was, wide string) {
	was, _ = p.modified(c)
	wide = p.Quote(c.Name) + " bigint NULL"
	if !p.columns[exactPlace(c)].nullable {
		wide = p.Quote(c.Name) + " bigint NOT NULL"
	}
	for _, t := range ddl.Tokens(was, true) {
		if t.Is("COMMENT") {
			return was, wide + " " + was[t.Start:]
		}
	}
	return was, wide
}

// typed returns the start of a definition, with the type and the collation of a column.
func (p *mysqlPlanner) typed(c catalog.Column, name string) string {
	was, _ := p.modified(c)
	for _, t := range ddl.Tokens(was, true)[1:] {
		if t.Is("NOT", "NULL", "DEFAULT", "AUTO_INCREMENT", "COMMENT") {
			was = was[:t.Start]
			break
		}
	}
	return p.Quote(name) + strings.TrimSuffix(strings.TrimPrefix(was, p.Quote(c.Name)), " ")
}
