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

func (s standIn) name() catalog.Name {
	initials := strings.ToLower(s.when[:1] + s.when[strings.IndexByte(s.when, ' ')+1:][:1])
	return catalog.Name{Schema: s.table.Schema, Name: database.Own("snowkey_fk_"+initials, s.table.Name)}
}

// standIns returns the triggers for the references, at most one per table and event.
func (p *mysqlPlanner) standIns(references []reference) (all []standIn) {
	add := func(table catalog.Name, when, statement string) {
		i := slices.IndexFunc(all, func(s standIn) bool { return s.table == table && s.when == when })
		if i < 0 {
			i = len(all)
			all = append(all, standIn{table: table, when: when})
		}
		all[i].body = append(all[i].body, statement)
	}
	for _, r := range references {
		var isNew, changed, given, old, moved, set, null []string
		for i, column := range r.Columns {
			c, k := p.Quote(column), p.Quote(r.Keys[i])
			isNew = append(isNew, k+" = NEW."+c)
			changed = append(changed, "NEW."+c+" <=> OLD."+c)
			given = append(given, "NEW."+c+" IS NOT NULL")
			old = append(old, c+" = OLD."+k)
			moved = append(moved, "NEW."+k+" <=> OLD."+k)
			set = append(set, c+" = NEW."+k)
			null = append(null, c+" = NULL")
		}
		and := func(list []string) string { return strings.Join(list, " AND ") }
		child, parent := p.name(r.Child), p.name(r.Parent)
		// We use the error numbers of a foreign key, so that programs treat the errors
		// alike.
		refuse := func(number int, text string) string {
			return fmt.Sprintf("SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = %s", number, p.Literal(text))
		}
		found := func(table, where string) string {
			return fmt.Sprintf("SELECT COUNT(*) INTO found FROM %s WHERE %s LOCK IN SHARE MODE", table, where)
		}
		text := fmt.Sprintf("%.60s references %.40s", r.Child.Name, r.Parent.Name)
		orphan := found(parent, and(isNew)) + "; IF found = 0 THEN " + refuse(1452, text+", which has no such row") + "; END IF"
		own := ""
		if r.Child == r.Parent { // a row may reference itself
			var itself []string
			for i, column := range r.Columns {
				itself = append(itself, "NEW."+p.Quote(column)+" <=> NEW."+p.Quote(r.Keys[i]))
			}
			own = " AND NOT (" + and(itself) + ")"
		}
		add(r.Child, "BEFORE INSERT", "IF "+and(given)+own+" THEN "+orphan+"; END IF")
		add(r.Child, "BEFORE UPDATE", "IF NOT ("+and(changed)+") AND "+and(given)+own+" THEN "+orphan+"; END IF")

		protect := refuse(1451, text+", and has rows for this one")
		// The children have to be deleted before their parent. Otherwise a foreign key
		// that still exists would delete them without firing their triggers, and their
		// own children would become orphans. A trigger can't change rows of its own
		// table (1442), so in that case it rejects the statement instead.
		can := r.Child != r.Parent
		switch {
		case can && r.OnDelete == "CASCADE":
			add(r.Parent, "BEFORE DELETE", "DELETE FROM "+child+" WHERE "+and(old))
		case can && r.OnDelete == "SET NULL":
			add(r.Parent, "BEFORE DELETE", "UPDATE "+child+" SET "+strings.Join(null, ", ")+" WHERE "+and(old))
		default:
			others := and(old)
			if !can {
				var itself []string
				for i, column := range r.Columns {
					itself = append(itself, p.Quote(column)+" <=> "+p.Quote(r.Keys[i]))
				}
				others += " AND NOT (" + and(itself) + ")"
			}
			add(r.Parent, "BEFORE DELETE", found(child, others)+"; IF found > 0 THEN "+protect+"; END IF")
		}
		switch {
		case can && r.OnUpdate == "CASCADE":
			add(r.Parent, "AFTER UPDATE", "IF NOT ("+and(moved)+") THEN UPDATE "+child+" SET "+strings.Join(set, ", ")+" WHERE "+and(old)+"; END IF")
		case can && r.OnUpdate == "SET NULL":
			add(r.Parent, "AFTER UPDATE", "IF NOT ("+and(moved)+") THEN UPDATE "+child+" SET "+strings.Join(null, ", ")+" WHERE "+and(old)+"; END IF")
		default:
			add(r.Parent, "BEFORE UPDATE", "IF NOT ("+and(moved)+") THEN "+found(child, and(old))+"; IF found > 0 THEN "+protect+"; END IF; END IF")
		}
	}
	return all
}

// standInSteps returns the steps that create the triggers and the steps that drop them.
// Each of them is the undo of the other, so the references are also protected while the
// plan is being reversed.
func (p *mysqlPlanner) standInSteps(references []reference) (made, dropped []Step) {
	for _, s := range p.standIns(references) {
		name := s.name()
		create := fmt.Sprintf("CREATE TRIGGER %s %s ON %s FOR EACH ROW BEGIN DECLARE found BIGINT; %s; END", p.name(name), s.when, p.name(s.table), strings.Join(s.body, "; "))
		drop := "DROP TRIGGER IF EXISTS " + p.name(name)
		locks := "writers of " + p.name(s.table) + " for a moment"
		made = append(made, Step{
			Text: "stand in for foreign keys at " + strings.ToLower(s.when) + " of " + p.name(s.table), SQL: create, Done: p.triggers(name, 1), Locks: locks,
			Retry: drop, Undo: []string{drop},
		})
		dropped = append(dropped, Step{
			Text: "drop the trigger that stood in for foreign keys of " + p.name(s.table), SQL: drop, Done: p.triggers(name, 0), Locks: locks,
			Undo: []string{drop, create},
		})
	}
	return made, dropped
}
