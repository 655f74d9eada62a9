package autoinc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// Online, tables are widened while applications keep using them. Beside each table we make an
// empty copy whose columns are wide. Triggers repeat there whatever writers do, while the rows
// that were there before are copied in batches. Finally the two swap their names, which is
// atomic.

// A tableCopy is the copy that takes the place of a table.
type tableCopy struct {
	table, fresh catalog.Name // the table, and the copy
	key          []string     // the primary key
	columns      []string     // all columns that aren't computed
}

func (p *mysqlPlanner) copyOf(table catalog.Name) tableCopy {
	c := tableCopy{table: table, fresh: beside("snowkey_new", table), key: p.primaryKey(table)}
	for _, column := range p.all {
		if column.Table == table && !column.computed {
			c.columns = append(c.columns, column.Name)
		}
	}
	return c
}

// primaryKey returns the columns of a table's primary key, or none if it has only the beginning
// of one.
func (p *mysqlPlanner) primaryKey(table catalog.Name) (names []string) {
	for _, line := range p.definitions[table] {
		list, found := strings.CutPrefix(line, "  PRIMARY KEY (")
		if !found {
			continue
		}
		for _, t := range ddl.Tokens(list, true) {
			switch {
			case t.Is(")"):
				return names
			case t.Is("("):
				return nil
			case t.Kind == ddl.Quoted:
				names = append(names, t.Text)
			}
		}
	}
	return nil
}

// refuseCopy refuses a table that a copy can't replace.
func (p *mysqlPlanner) refuseCopy(c tableCopy, column catalog.Column, dropped []catalog.Reference) {
	const remedy = "plan without --online"
	name := p.name(c.table)
	if len(c.key) == 0 || p.columns[place{c.table.Schema, c.table.Name, c.key[0]}].Bits == 0 {
		p.refuse(column, remedy, "its table has no primary key that begins with an integer, by which rows could be copied in batches")
	}
	for _, t := range p.report.Triggers {
		if t.Table == c.table {
			p.refuse(column, remedy+"; or drop it, apply the phase widen, and create it again", "a copy of %s would not have its trigger %s", name, p.Quote(t.Name))
		}
	}
	for _, r := range p.report.References {
		if (r.Child == c.table || r.Parent == c.table) && !slices.ContainsFunc(dropped, func(d catalog.Reference) bool { return sameReference(d, r) }) {
			p.refuse(column, remedy+"; or drop it, apply the phase widen, and add it again", "a copy of %s would not have the foreign key %s of %s", name, p.Quote(r.Name), p.name(r.Child))
		}
	}
	for _, line := range p.definitions[c.table] {
		if p.Dialect == catalog.MySQL && strings.HasPrefix(line, "  CONSTRAINT ") && strings.Contains(line, " CHECK (") {
			p.refuse(column, remedy, "the server gives the checks of a copy of %s other names", name)
		}
		if strings.Contains(line, "DATA DIRECTORY") {
			p.refuse(column, remedy, "the server would keep a copy of %s in another directory", name)
		}
	}
}

// ofCopy begins the names of the triggers that stand in for foreign keys of a copy.
const ofCopy = "snowkey_fk2_"

// These settings are for statements that write rows to a copy, where a key may be 0. With the
// variable, triggers of the copy don't check rows that are copied.
var (
	writesCopy = []string{"SET sql_mode = '" + mysqlMode + ",NO_AUTO_VALUE_ON_ZERO', @snowkey_copying = 1"}
	wroteCopy  = []string{"SET sql_mode = '" + mysqlMode + "', @snowkey_copying = NULL"}
)

// fillCopy adds the steps that make the copy, with the triggers that repeat what writers do,
// and that copy the rows. Until there are such triggers nobody uses the copy, so that its own
// can be created without anybody waiting.
func (p *mysqlPlanner) fillCopy(c tableCopy, modify []string, references []catalog.Reference) {
	name, fresh := p.name(c.table), p.name(c.fresh)
	p.createTable(Widen, c.fresh, "make an empty copy of "+name, fmt.Sprintf("CREATE TABLE %s LIKE %s", fresh, name))
	p.add(Widen, Step{
		Text: "widen the columns of the copy", SQL: "ALTER TABLE " + fresh + " " + strings.Join(modify, ", "), Locks: "nothing",
		Done: p.wide(c.fresh, namesOf(p.wideColumns[c.table])),
	})
	p.add(Widen, Step{
		Text: "let the copy count on from where the table does", SQL: "EXECUTE snowkey_count", Done: fmt.Sprintf("SELECT (%s) >= (%s)", p.counter(c.fresh), p.counter(c.table)), Locks: "nothing",
		Before: []string{"SET @snowkey_count = CONCAT(" + p.Literal("ALTER TABLE "+fresh+" AUTO_INCREMENT = ") + ", (" + p.counter(c.table) + "))", "PREPARE snowkey_count FROM @snowkey_count"},
		After:  []string{"DEALLOCATE PREPARE snowkey_count"},
	})
	for _, in := range p.standIns(references) {
		if in.table == c.table {
			in.body = []string{"IF @snowkey_copying IS NULL THEN " + strings.Join(in.body, "; ") + "; END IF"}
			trigger := in.named(ofCopy)
			p.add(Widen, p.makeTrigger("let the copy have the trigger that stands in for foreign keys", trigger, p.createStandIn(in, trigger, fresh), "nothing"))
		}
	}
	row := func(alias string) string {
		return joined(c.columns, ", ", func(_ int, column string) string { return alias + p.Quote(column) })
	}
	same := joined(c.key, and, func(_ int, column string) string { return p.Quote(column) + " = OLD." + p.Quote(column) })
	stays := joined(c.key, and, func(_ int, column string) string { return "NEW." + p.Quote(column) + " = OLD." + p.Quote(column) })
	// Not REPLACE: the triggers that stand in for foreign keys would delete the row's children.
	write := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON DUPLICATE KEY UPDATE %s", fresh, row(""), row("NEW."),
		joined(c.columns, ", ", func(_ int, column string) string { return p.Quote(column) + " = NEW." + p.Quote(column) }))
	remove := fmt.Sprintf("DELETE FROM %s WHERE %s", fresh, same)
	// Before a row can be written to the copy, it must be certain to be deleted there too.
	for _, t := range [][2]string{
		{"AFTER DELETE", remove},
		{"AFTER UPDATE", "BEGIN IF NOT (" + stays + ") THEN " + remove + "; END IF; " + write + "; END"},
		{"AFTER INSERT", write},
	} {
		trigger := standIn{table: c.table, when: t[0]}.named("snowkey_copy_")
		s := p.makeTrigger("repeat in the copy what writers do: "+strings.ToLower(t[0])+" of "+name, trigger,
			fmt.Sprintf("CREATE TRIGGER %s %s ON %s FOR EACH ROW %s", p.name(trigger), t[0], name, t[1]), "writers of "+name+" for a moment")
		s.Before, s.After = writesCopy, wroteCopy
		p.add(Widen, s)
	}
	first := p.Quote(c.key[0])
	p.add(Widen, Step{
		Text: "copy the rows of " + name, Run: ranging, Locks: "the rows of a batch", Rewrites: "nothing; it writes every row to the copy", Copies: name,
		SQL:    fmt.Sprintf("INSERT IGNORE INTO %s (%s) SELECT %[2]s FROM %[3]s WHERE %[4]s > @snowkey_after AND %[4]s <= @snowkey_last LOCK IN SHARE MODE", fresh, row(""), name, first),
		Size:   p.lastOf(name, first),
		Before: writesCopy, After: wroteCopy,
	})
	sum := func(table string) string {
		return fmt.Sprintf("SELECT CONCAT_WS(' ', COUNT(*), %s) AS rows_sum FROM %s", joined(c.columns, ", ", func(_ int, column string) string { return "BIT_XOR(CRC32(" + p.Quote(column) + "))" }), table)
	}
	p.add(Widen, Step{
		Text: "prove that the copy has the same rows", Run: Check, Unit: p.begin(), Locks: "nothing; it reads both once, as they are at one moment",
		SQL: fmt.Sprintf("SELECT o.rows_sum AS old, n.rows_sum AS new FROM (%s) AS o JOIN (%s) AS n WHERE o.rows_sum <> n.rows_sum", sum(name), sum(fresh)), Remedy: "call snowkey migrate undo --phase widen, and apply again",
	})
}

// swap adds the steps that put the copy in the place of its table, the first of which is like s.
func (p *mysqlPlanner) swap(c tableCopy, s Step) {
	name, gone := p.name(c.table), beside("snowkey_old", c.table)
	old := p.name(gone)
	s.Text, s.SQL = "put the copy in the place of "+name, fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %[1]s", name, old, p.name(c.fresh))
	s.Locks, s.Rewrites, s.Copies = "readers and writers of "+name+" for a moment", "", ""
	s.Undo = append(s.Undo, "DROP TABLE IF EXISTS "+old)
	p.add(Widen, s)
	p.addDDL(Widen, Step{Text: "drop the old table, with its triggers", SQL: "DROP TABLE IF EXISTS " + old, Locks: "nothing"}, gone, 0)
}
