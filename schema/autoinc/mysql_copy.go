package autoinc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// Online, tables are widened while applications keep using them. Beside each table we make an
// empty copy whose columns are wide. Triggers repeat there whatever writers do, while the rows
// that were there before are copied in batches. Finally the two swap their names, which is
// atomic. Plans with RekeyOptions use the same copies, offline without the triggers.

// A tableCopy is the copy that takes the place of a table.
type tableCopy struct {
	table, fresh, old catalog.Name // the table, the copy, and the table when the copy has its name
	like, altered     string       // SQL that makes an empty copy, and SQL that gives it its columns and its name
	key, was          []string     // the primary key of the table, and what it is in the copy for the row OLD of a trigger
	columns, values   []string     // the columns that are written, with the value of each for a row t of the table
	from, where       string       // the table as t, with joins, and more conditions for rows that can be copied
	batch, last       string       // the number by which rows are copied in batches, and a query for the last one of a batch, if there is one
}

// emptyPrefix begins the name of a copy that doesn't have its own columns yet.
const emptyPrefix = "snowkey_empty"

// copyOf returns a copy in which columns have the new keys for the old ones, or the other way
// round, and whose columns are changed by actions of an ALTER TABLE. It only has rows all of
// whose keys have a new one.
func (p *mysqlPlanner) copyOf(table catalog.Name, r rekeying, from, to string, actions []string) tableCopy {
	c := tableCopy{table: table, fresh: beside("snowkey_new", table), old: beside("snowkey_old", table), from: p.name(table) + " AS t"}
	if !slices.ContainsFunc(p.definitions[table], func(line string) bool {
		return strings.HasPrefix(line, "  PRIMARY KEY (") && strings.Contains(line, "`(")
	}) {
		c.key = p.report.PrimaryKeys[table] // otherwise the key has only the beginning of a column
	}
	empty := p.name(beside(emptyPrefix, table))
	c.like, c.altered = "CREATE TABLE "+empty+" LIKE "+p.name(table), "ALTER TABLE "+empty+" "+strings.Join(actions, ", ")+", RENAME TO "+p.name(c.fresh)
	names, joins := p.stored(table), ""
	c.columns, c.values, joins = r.copied(p.server, table, names, from, to)
	for i, name := range names {
		if value := "t." + p.Quote(name); c.values[i] != value && to == "new" {
			c.where += fmt.Sprintf(" AND (%s IS NULL OR %s IS NOT NULL)", value, c.values[i])
		}
	}
	for i, name := range c.key {
		column, was := catalog.Column{Table: table, Name: name}, "OLD."+p.Quote(name)
		of := r.held[bare(column)]
		if len(of) > 0 {
			was = r.lookup(p.server, column, "OLD")
		}
		c.was = append(c.was, was)
		switch {
		case i > 0:
		case len(of) == 1:
			c.batch, c.last = fmt.Sprintf("m%d_0.new", slices.Index(names, name)), p.lastOf(p.name(mapName(of[0].of)), "new")
			c.from += " FORCE INDEX (PRIMARY)" // otherwise small tables are read, and locked, from end to end for each batch
		case p.columns[bare(column)].Bits > 0:
			c.batch, c.last = "t."+p.Quote(name), p.lastOf(p.name(table), p.Quote(name))
		}
	}
	c.from += joins
	return c
}

// refuseCopy refuses a table that a copy can't replace, or only while nobody writes.
func (p *mysqlPlanner) refuseCopy(c tableCopy, column catalog.Column) {
	remedy, name := "leave out the table of the key (Except, --except)", p.name(c.table)
	if p.options.Online {
		remedy = "plan without --online"
		if c.batch == "" {
			p.refuse(column, remedy, "its table has no primary key that begins with an integer, or with a key that is replaced, by which rows could be copied in batches")
		}
		if len(p.checks(c.table)) > 0 {
			p.refuse(column, remedy, "the server gives the checks of a copy of %s other names", name)
		}
	}
	if slices.ContainsFunc(p.definitions[c.table], func(line string) bool { return strings.Contains(line, "DATA DIRECTORY") }) {
		p.refuse(column, remedy, "the server would keep a copy of %s in another directory", name)
	}
}

// refuseTies refuses triggers and foreign keys that a copy would not have. It gets a fence.
func (p *mysqlPlanner) refuseTies(c tableCopy, column catalog.Column, dropped []catalog.Reference) {
	const remedy = "plan without --online; or drop it, apply the phase widen, and "
	for _, t := range p.report.Triggers {
		if t.Table == c.table && t.Name != database.Own(database.FencePrefix, t.Table.Name) {
			p.refuse(column, remedy+"create it again", "a copy of %s would not have its trigger %s", p.name(c.table), p.Quote(t.Name))
		}
	}
	for _, r := range p.report.References {
		if (r.Child == c.table || r.Parent == c.table) && !slices.ContainsFunc(dropped, func(d catalog.Reference) bool { return sameReference(d, r) }) {
			p.refuse(column, remedy+"add it again", "a copy of %s would not have the foreign key %s of %s", p.name(c.table), p.Quote(r.Name), p.name(r.Child))
		}
	}
}

// checks returns the definitions of a table's checks if the server gives those of a copy other
// names.
func (p *mysqlPlanner) checks(table catalog.Name) (checks []string) {
	for _, line := range p.definitions[table] {
		if p.Dialect == catalog.MySQL && strings.HasPrefix(line, "  CONSTRAINT ") && strings.Contains(line, " CHECK (") {
			checks = append(checks, strings.TrimSuffix(strings.TrimSpace(line), ","))
		}
	}
	return checks
}

// replace adds the steps that put copies in the place of their tables, without any foreign keys
// meanwhile. The steps alter do the same to the tables. A copy has the fence of its table under
// another name until the old table is dropped.
func (p *mysqlPlanner) replace(phase PhaseName, references []catalog.Reference, copies []tableCopy, alter []Step, fences ...Step) {
	var fenced []standIn
	for i, s := range fences {
		_, body, _ := strings.Cut(s.SQL, " FOR EACH ROW ")
		fenced = append(fenced, standIn{copies[i].table, "BEFORE INSERT", []string{body}})
	}
	standIns := p.standIns(references, fenced...)
	made, lifted := p.triggerSteps(standIns, "snowkey_fk_", standInFor)
	copied, dropped := p.triggerSteps(standIns, ofCopy, standInFor)
	for j, in := range standIns {
		if !slices.ContainsFunc(copies, func(c tableCopy) bool { return c.table == in.table }) {
			dropped[j] = lifted[j] // because its table stays
		}
	}
	p.withoutReferences(phase, references, made, dropped, func() {
		var swaps []Step
		for i, c := range copies {
			p.emptyCopy(phase, c)
			for j, in := range standIns {
				if in.table == c.table {
					alter[i].Undo = slices.Insert(alter[i].Undo, 0, made[j].Retry, made[j].SQL) // which the table needs when its copy's are dropped
					p.add(phase, p.onCopy(copied[j], c))
				}
			}
			p.fillCopy(phase, c)
			p.proveCopy(phase, c)
			swaps = append(swaps, p.swap(c, alter[i])...)
		}
		p.add(phase, swaps...)
		p.add(phase, fences...)
	})
}

// ofCopy begins the names of the triggers that stand in for foreign keys of a copy.
const ofCopy = "snowkey_fk2_"

// These settings are for statements that write rows to a copy, where a key may be 0. With the
// variable, triggers of the copy don't check rows that are copied.
var (
	writesCopy = []string{"SET sql_mode = '" + mysqlMode + ",NO_AUTO_VALUE_ON_ZERO', @snowkey_copying = 1"}
	wroteCopy  = []string{"SET sql_mode = '" + mysqlMode + "', @snowkey_copying = NULL"}
)

// onCopy returns the step that creates a trigger which stands in for foreign keys on the copy, and
// not on its table. Nobody uses the copy until it has the table's name.
func (p *mysqlPlanner) onCopy(s Step, c tableCopy) Step {
	s.SQL = strings.Replace(s.SQL, " ON "+p.name(c.table)+" ", " ON "+p.name(c.fresh)+" ", 1)
	s.Text, s.Locks = "let the copy have the trigger that stands in for foreign keys", "nothing"
	return s
}

// emptyCopy adds the steps that make the copy.
func (p *mysqlPlanner) emptyCopy(phase PhaseName, c tableCopy) {
	name, fresh := p.name(c.table), p.name(c.fresh)
	p.createTable(phase, beside(emptyPrefix, c.table), "make an empty copy of "+name, c.like)
	p.createTable(phase, c.fresh, "change the columns of the copy", c.altered)
	if phase == Drop {
		return // it doesn't count
	}
	p.add(phase, Step{
		Text: "let the copy count on from where the table does", SQL: "EXECUTE snowkey_count", Done: fmt.Sprintf("SELECT (%s) >= (%s)", p.counter(c.fresh), p.counter(c.table)), Locks: "nothing",
		Before: []string{"SET @snowkey_count = CONCAT(" + p.Literal("ALTER TABLE "+fresh+" AUTO_INCREMENT = ") + ", (" + p.counter(c.table) + "))", "PREPARE snowkey_count FROM @snowkey_count"},
		After:  []string{"DEALLOCATE PREPARE snowkey_count"},
	})
}

// fillCopy adds the triggers that repeat in the copy what writers do, and the step that copies the
// rows that were there before. Before a row can be written in the copy, it must be certain to be
// deleted there too.
func (p *mysqlPlanner) fillCopy(phase PhaseName, c tableCopy) {
	keys := func(f func(i int, column string) string) string {
		return database.Joined(c.key, and, func(i int, name string) string { return f(i, p.Quote(name)) })
	}
	remove := fmt.Sprintf("DELETE FROM %s WHERE %s", p.name(c.fresh), keys(func(i int, column string) string { return column + " = " + c.was[i] }))
	write := p.insertion(c, keys(func(_ int, column string) string { return "t." + column + " = NEW." + column }))
	moved := remove
	if phase != Rekey { // where the triggers that stand in for foreign keys would delete the row's children
		moved = "IF NOT (" + keys(func(_ int, column string) string { return "NEW." + column + " = OLD." + column }) + ") THEN " + remove + "; END IF"
	}
	triggers, _ := p.triggerSteps([]standIn{
		{c.table, "AFTER DELETE", []string{remove}}, {c.table, "AFTER UPDATE", []string{moved, write}}, {c.table, "AFTER INSERT", []string{write}},
	}, "snowkey_copy_", "repeat in the copy what writers do")
	for _, s := range triggers {
		s.Before, s.After = writesCopy, wroteCopy
		p.add(phase, s)
	}
	p.add(phase, p.filling(c))
}

// insertion returns SQL that copies rows. Those that the copy has become equal again.
func (p *mysqlPlanner) insertion(c tableCopy, where string) string {
	fresh := p.name(c.fresh)
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT SQL_BUFFER_RESULT %s FROM %s WHERE %s%s LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE %s", fresh, p.List(c.columns), strings.Join(c.values, ", "), c.from, where, c.where,
		database.Joined(c.columns, ", ", func(i int, name string) string { return fresh + "." + p.Quote(name) + " = " + c.values[i] }))
}

// filling returns a step that copies the rows.
func (p *mysqlPlanner) filling(c tableCopy) Step {
	s := Step{
		Text: "copy the rows of " + p.name(c.table), Run: Backfill, Locks: "the rows of a batch", Rewrites: "nothing; it writes every row to the copy", Copies: p.name(c.table),
		SQL: p.insertion(c, c.batch+" > "+rangeAfter+and+c.batch+" <= "+rangeLast), Size: c.last,
		Before: writesCopy, After: wroteCopy,
	}
	if c.batch == "" {
		s.Run, s.SQL, s.Size, s.Locks = Exec, p.insertion(c, "TRUE"), "", "writers of "+p.name(c.table)
		s.Done, s.Retry = "SELECT 0", "TRUNCATE TABLE "+p.name(c.fresh)
	}
	return s
}

// proveCopy adds a check that the copy has the same rows, with the values that it is to have.
// CRC32 alone would not do: it is linear, so that rows which have exchanged values cancel out.
func (p *mysqlPlanner) proveCopy(phase PhaseName, c tableCopy) {
	sum := func(value func(i int) string, from string) string {
		row := database.Joined(c.columns, ", ", func(i int, _ string) string { return "COALESCE(CRC32(" + value(i) + "), '')" })
		return fmt.Sprintf("SELECT CONCAT_WS(' ', COUNT(*), BIT_XOR(CAST(CONV(LEFT(SHA2(CONCAT_WS(' ', %s), 256), 16), 16, 10) AS UNSIGNED))) AS rows_sum FROM %s", row, from)
	}
	old := sum(func(i int) string { return c.values[i] }, c.from)
	copied := sum(func(i int) string { return p.Quote(c.columns[i]) }, p.name(c.fresh))
	p.add(phase, Step{
		Text: "prove that the copy of " + p.name(c.table) + " has the same rows", Run: Check, Unit: p.begin(), Locks: "nothing; it reads both once, as they are at one moment",
		SQL:    fmt.Sprintf("SELECT o.rows_sum AS old, n.rows_sum AS new FROM (%s) AS o JOIN (%s) AS n WHERE o.rows_sum <> n.rows_sum", old, copied),
		Remedy: "call snowkey migrate undo --phase " + string(phase) + ", and apply again",
	})
}

// exchange returns the part of a RENAME TABLE in which a table gets another name, and a second one
// gets its name.
func (p *mysqlPlanner) exchange(table, away, comes catalog.Name) string {
	return fmt.Sprintf("%s TO %s, %s TO %[1]s", p.name(table), p.name(away), p.name(comes))
}

// swap returns the steps that put the copy in the place of its table, the first of which is like s.
// Its undo ends with that of s, after which it counts as undone.
func (p *mysqlPlanner) swap(c tableCopy, s Step) []Step {
	name, drop := p.name(c.table), "DROP TABLE IF EXISTS "+p.name(c.old)
	s.Text, s.SQL = "put the copy in the place of "+name, "RENAME TABLE "+p.exchange(c.table, c.old, c.fresh)
	s.Locks, s.Rewrites, s.Copies = "readers and writers of "+name+" for a moment", "", ""
	s.Undo = slices.Insert(s.Undo, 0, drop)
	return []Step{s, {Text: "drop the old table, with its triggers", SQL: drop, Locks: "nothing", Done: p.listed(0, "TABLES", "TABLE", c.old, "")}}
}

// lastOf returns the query for the last row of a batch, and of a table, by a column.
func (p *mysqlPlanner) lastOf(table, column string) string {
	return fmt.Sprintf("SELECT COALESCE(MAX(n), -9223372036854775808), COALESCE((SELECT MAX(%s) FROM %s), 0), 0 FROM (SELECT %[1]s AS n FROM %[2]s WHERE %[1]s > ? ORDER BY %[1]s LIMIT ?) AS r", column, table)
}
