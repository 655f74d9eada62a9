package autoinc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// Writers keep running while foreign keys are dropped. Until the foreign keys are back,
// we use triggers in their place. The triggers on a child reject rows without a parent,
// and the triggers on a parent delete, change or protect the rows of its children. Like
// a foreign key, they take locks when they read, so that a row can't be inserted while
// its parent is being deleted. There is no gap in the protection: the triggers are
// created before the foreign keys are dropped, and dropped only after the foreign keys
// have been added again.

// A standIn is one of these triggers.
type standIn struct {
	table catalog.Name
	when  string // such as BEFORE INSERT
	body  []string
}

// standIns adds the triggers for the references, at most one per table and event.
func (p *mysqlPlanner) standIns(references []catalog.Reference, all ...standIn) []standIn {
	add := func(table catalog.Name, when, statement string) {
		i := slices.IndexFunc(all, func(s standIn) bool { return s.table == table && s.when == when })
		if i < 0 {
			i = len(all)
			all = append(all, standIn{table: table, when: when})
		}
		all[i].body = append(all[i].body, statement)
	}
	for _, r := range references {
		p.childStandIns(r, add)
		p.parentStandIns(r, add)
	}
	for i, s := range all { // with the variable, they don't check rows that are copied
		all[i].body = []string{"IF @snowkey_copying IS NULL THEN " + strings.Join(s.body, "; ") + "; END IF"}
	}
	return all
}

// refusal returns a statement that fails with the error number of a foreign key, so that
// programs treat the errors alike.
func (p *mysqlPlanner) refusal(number int, r catalog.Reference, text string) string {
	text = fmt.Sprintf("%.60s references %.40s, %s", r.Child.Name, r.Parent.Name, text)
	return fmt.Sprintf("SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = %s", number, p.Literal(text))
}

// each joins what f returns for each pair of a column and the key that it references.
func (p *mysqlPlanner) each(r catalog.Reference, separator string, f func(column, key string) string) string {
	return database.Joined(r.Columns, separator, func(i int, name string) string { return f(p.Quote(name), p.Quote(r.Keys[i])) })
}

const and = " AND "

// found returns statements for the case that there are any rows.
func found(table, where, comparison, then string) string {
	return fmt.Sprintf("SELECT COUNT(*) INTO found FROM %s WHERE %s LOCK IN SHARE MODE; IF found %s 0 THEN %s; END IF", table, where, comparison, then)
}

// childStandIns adds the triggers that refuse rows without a parent.
func (p *mysqlPlanner) childStandIns(r catalog.Reference, add func(table catalog.Name, when, statement string)) {
	given := p.each(r, and, func(c, _ string) string { return "NEW." + c + " IS NOT NULL" })
	if r.Child == r.Parent { // a row may reference itself
		given += " AND NOT (" + p.each(r, and, func(c, k string) string { return "NEW." + c + " <=> NEW." + k }) + ")"
	}
	unchanged := p.each(r, and, func(c, _ string) string { return "NEW." + c + " <=> OLD." + c })
	parent := p.each(r, and, func(c, k string) string { return k + " = NEW." + c })
	orphan := found(p.name(r.Parent), parent, "=", p.refusal(1452, r, "which has no such row"))
	add(r.Child, "BEFORE INSERT", "IF "+given+" THEN "+orphan+"; END IF")
	add(r.Child, "BEFORE UPDATE", "IF NOT ("+unchanged+") AND "+given+" THEN "+orphan+"; END IF")
}

// parentStandIns adds the triggers that do what ON DELETE and ON UPDATE say. The children
// have to be deleted before their parent. Otherwise a foreign key that still exists would
// delete them without firing their triggers, and their own children would become orphans. A
// trigger can't change rows of its own table (1442), so in that case it rejects the statement
// instead.
func (p *mysqlPlanner) parentStandIns(r catalog.Reference, add func(table catalog.Name, when, statement string)) {
	child, protect := p.name(r.Child), p.refusal(1451, r, "and has rows for this one")
	old := p.each(r, and, func(c, k string) string { return c + " = OLD." + k })
	null := "UPDATE " + child + " SET " + p.each(r, ", ", func(c, _ string) string { return c + " = NULL" }) + " WHERE " + old
	self := r.Child == r.Parent
	switch {
	case self:
		others := old + " AND NOT (" + p.each(r, and, func(c, k string) string { return c + " <=> " + k }) + ")"
		add(r.Parent, "BEFORE DELETE", found(child, others, ">", protect))
	case r.OnDelete == "CASCADE":
		add(r.Parent, "BEFORE DELETE", "DELETE FROM "+child+" WHERE "+old)
	case r.OnDelete == "SET NULL":
		add(r.Parent, "BEFORE DELETE", null)
	default:
		add(r.Parent, "BEFORE DELETE", found(child, old, ">", protect))
	}
	moved := "IF NOT (" + p.each(r, and, func(_, k string) string { return "NEW." + k + " <=> OLD." + k }) + ") THEN "
	switch {
	case !self && r.OnUpdate == "CASCADE":
		set := p.each(r, ", ", func(c, k string) string { return c + " = NEW." + k })
		add(r.Parent, "AFTER UPDATE", moved+"UPDATE "+child+" SET "+set+" WHERE "+old+"; END IF")
	case !self && r.OnUpdate == "SET NULL":
		add(r.Parent, "AFTER UPDATE", moved+null+"; END IF")
	default:
		add(r.Parent, "BEFORE UPDATE", moved+found(child, old, ">", protect)+"; END IF")
	}
}

// standInFor is what these triggers are to do.
const standInFor = "stand in for foreign keys"

// triggerSteps returns the steps that create triggers and the steps that drop them. Each of
// them is the undo of the other, so they do the same while the plan is being reversed.
func (p *mysqlPlanner) triggerSteps(triggers []standIn, prefix, what string) (made, dropped []Step) {
	for _, s := range triggers {
		initials := strings.ToLower(s.when[:1] + s.when[strings.IndexByte(s.when, ' ')+1:][:1])
		name, table := beside(prefix+initials, s.table), p.name(s.table)
		create := fmt.Sprintf("CREATE TRIGGER %s %s ON %s FOR EACH ROW BEGIN DECLARE found BIGINT; %s; END", p.name(name), s.when, table, strings.Join(s.body, "; "))
		step := p.makeTrigger(what+" at "+strings.ToLower(s.when)+" of "+table, name, create, "writers of "+table+" for a moment")
		made, dropped = append(made, step), append(dropped, reversed(step, "drop the trigger of "+table+" that was to "+what))
	}
	return made, dropped
}
