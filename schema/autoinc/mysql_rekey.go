package autoinc

import (
	"cmp"
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
func rekeyMySQL(ctx context.Context, conn *sql.Conn, base *planner) error {
	p, err := newMySQLPlanner(ctx, conn, base)
	if err != nil {
		return err
	}
	r, err := p.rekeyPlan(ctx, conn)
	if err != nil {
		return err
	}
	for _, f := range r.references {
		if err := p.define(ctx, conn, f.Child); err != nil {
			return err
		}
	}
	triggers, err := p.ownTriggers(ctx, conn, r)
	if err != nil {
		return err
	}
	p.note(Rekey, "Beside each table a copy with the new keys is made, which takes its place at the end. Free space for a second copy of all tables is needed. There is no transaction around these statements. Once this phase has begun, complete it or undo it.")
	var standIns, standDown []Step
	if p.options.Online {
		p.note(Rekey, standInNote)
		standIns, standDown = p.triggerSteps(p.standIns(r.references), "snowkey_fk_", standInFor)
	}
	var refusals []standIn
	for _, table := range r.tables {
		for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
			refusals = append(refusals, standIn{table, "BEFORE " + event, []string{"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowkey: keys are being replaced; stop the application until this is complete'"}})
		}
	}
	refuse, admit := p.triggerSteps(refusals, "snowkey_stop_", "refuse writers")
	p.withoutReferences(Rekey, r.references, standIns, standDown, func() { p.rekey(r, triggers, refuse) })
	for _, table := range r.tables {
		p.endCopy(table, r)
	}
	p.add(Rekey, admit...) // of which nothing is left but what an undo does
	return nil
}

// rekey adds the steps that replace the tables.
func (p *mysqlPlanner) rekey(r rekeying, triggers, refuse []Step) {
	var copies []tableCopy
	for _, table := range r.tables {
		actions, _ := p.retyping(table, r)
		c := p.copyOf(table, r, "old", "new", append(actions, p.dropChecks(table)...))
		p.refuseCopy(c, r.columns[table][0])
		p.emptyCopy(Rekey, c)
		if p.options.Online {
			p.fillCopy(Rekey, c)
		}
		copies = append(copies, c)
	}
	p.mapLate(r)
	for _, c := range r.all() {
		s := p.checkMapped(c, r)
		s.Unit = p.begin() // so that it isn't repeated when the values are new
		p.add(Rekey, s)
	}
	p.add(Rekey, refuse...)
	for _, c := range copies {
		p.add(Rekey, p.missing(c))
		p.proveCopy(Rekey, c)
	}
	for _, s := range slices.Backward(triggers) { // an undo creates them in their order
		p.add(Rekey, reversed(s, "drop a trigger, to be created again below"))
	}
	fresh := func(_ int, c tableCopy) string {
		return fmt.Sprintf("(%s, %s)", p.Literal(c.fresh.Schema), p.Literal(c.fresh.Name))
	}
	p.add(Rekey, Step{
		Text:  "put the copies in the place of their tables",
		SQL:   "RENAME TABLE " + database.Joined(copies, ", ", func(_ int, c tableCopy) string { return p.exchange(c.table, c.old, c.fresh) }),
		Undo:  []string{"RENAME TABLE " + database.Joined(copies, ", ", func(_ int, c tableCopy) string { return p.exchange(c.table, c.fresh, c.old) })},
		Done:  "SELECT COUNT(*) = 0 FROM information_schema.TABLES WHERE (TABLE_SCHEMA, TABLE_NAME) IN (" + database.Joined(copies, ", ", fresh) + ")",
		Locks: "readers of the tables for a moment",
	}, p.checkUndo(r))
	p.add(Rekey, triggers...)
}

// missing returns a step that copies the rows that the copy doesn't have. Online, these are few.
func (p *mysqlPlanner) missing(c tableCopy) Step {
	if !p.options.Online {
		return p.filling(c)
	}
	ties := database.Joined(c.key, and, func(_ int, name string) string {
		return "n." + p.Quote(name) + " = " + c.values[slices.Index(c.columns, name)]
	})
	c.from += fmt.Sprintf(" LEFT JOIN %s AS n ON %s", p.name(c.fresh), ties)
	c.where += " AND n." + p.Quote(c.key[0]) + " IS NULL"
	s := p.filling(c)
	s.Text, s.Copies = "copy the rows of "+p.name(c.table)+" that had no new key", ""
	return s
}

// dropChecks adds the step that drops the checks of a table, if their names are unique in a
// schema, and returns the actions that add them to its copy.
func (p *mysqlPlanner) dropChecks(table catalog.Name) (adding []string) {
	checks, alter := p.checks(table), "ALTER TABLE "+p.name(table)+" "
	if len(checks) == 0 {
		return nil
	}
	for _, check := range checks {
		adding = append(adding, "ADD "+check)
	}
	p.add(Rekey, Step{
		Text: "drop the checks of " + p.name(table) + ", which the copy gets", Locks: "readers and writers for a moment only",
		SQL:  alter + database.Joined(checks, ", ", func(_ int, check string) string { return "DROP CHECK " + p.Quote(ddl.Tokens(check, true)[1].Text) }),
		Done: p.listed(0, "TABLE_CONSTRAINTS", "TABLE", table, " AND CONSTRAINT_TYPE = 'CHECK'"),
		Undo: []string{alter + strings.Join(adding, ", ")},
	})
	return adding
}

// endCopy adds the step that drops the old table. An undo makes it again, as a copy that has its
// name when it is complete.
func (p *mysqlPlanner) endCopy(table catalog.Name, r rekeying) {
	_, actions := p.retyping(table, r)
	for i := range p.checks(table) { // which the server has given other names
		actions = append(actions, "DROP CHECK "+p.Quote(fmt.Sprintf("%s_chk_%d", beside(emptyPrefix, table).Name, i+1)))
	}
	counts := slices.ContainsFunc(p.report.Keys, func(k catalog.Key) bool { return k.Column.Table == table && k.Mechanism == catalog.AutoIncrement })
	if counts {
		actions = append(actions, "AUTO_INCREMENT = "+counted+" 1")
	}
	c := p.copyOf(table, r, "new", "old", actions)
	if counts {
		p.add(Rekey, p.keepCounter(table, c.old))
	}
	fill, fresh := p.filling(c), p.name(c.fresh)
	clean := "DROP TABLE IF EXISTS " + p.name(beside(emptyPrefix, table)) + ", " + fresh
	p.addDDL(Rekey, Step{
		Text: "drop the old table of " + p.name(table) + ", with its triggers", SQL: "DROP TABLE IF EXISTS " + p.name(c.old), Locks: "nothing",
		Undo: []string{clean, c.like, c.altered, fill.SQL, "RENAME TABLE " + fresh + " TO " + p.name(c.old)}, Retry: clean,
		Size: fill.Size, Before: fill.Before, After: fill.After, // for the SQL that fills it
	}, c.old, 0)
}

// ownTriggers returns the steps that create the application's triggers of tables that are copied,
// in order.
func (p *mysqlPlanner) ownTriggers(ctx context.Context, conn *sql.Conn, r rekeying) (all []Step, err error) {
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
		s := p.makeTrigger("create the trigger "+p.name(name)+" again", name, d.create, "nothing")
		s.Before = []string{"SET sql_mode = " + p.Literal(d.mode), "USE " + p.Quote(name.Schema)}
		s.After = []string{"SET sql_mode = " + p.Literal(mysqlMode), "USE " + p.Quote(p.database)}
		all = append(all, s)
	}
	return all, nil
}

// retyping returns actions of an ALTER TABLE that give the columns of a copy their new types, and
// those that give them the old ones again.
func (p *mysqlPlanner) retyping(table catalog.Name, r rekeying) (actions, back []string) {
	for _, c := range r.columns[table] {
		was, _, comment := p.parts(c)
		null := "NOT NULL"
		if p.columns[bare(c)].nullable {
			null = "NULL"
		}
		actions, back = append(actions, "MODIFY "+p.Quote(c.Name)+" bigint "+null+comment), append(back, "MODIFY "+was)
	}
	if kept := r.kept(table); kept != "" {
		_, kind, _ := p.parts(r.keys[table].Column)
		actions = append(actions, "ADD COLUMN "+p.Quote(kept)+kind+" NULL", "ADD UNIQUE KEY ("+p.Quote(kept)+")")
		back = append(back, "DROP COLUMN "+p.Quote(kept))
	}
	return actions, back
}

// parts returns the definition of a column, and the type with the collation and the comment in it.
func (p *mysqlPlanner) parts(c catalog.Column) (was, kind, comment string) {
	was, _ = p.modified(c)
	for _, t := range slices.Backward(ddl.Tokens(was, true)) {
		if t.Is("COMMENT") {
			comment = " " + was[t.Start:]
		}
		if t.Is("NOT", "NULL", "DEFAULT", "AUTO_INCREMENT", "COMMENT") {
			kind = was[:t.Start]
		}
	}
	return was, strings.TrimSuffix(strings.TrimPrefix(cmp.Or(kind, was), p.Quote(c.Name)), " "), comment
}
