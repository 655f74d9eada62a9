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
// atomic. Plans with RekeyOptions use the same copies, offline without the triggers.

// A tableCopy is the copy that takes the place of a table.
type tableCopy struct {
	table, fresh, old catalog.Name // the table, the copy, and the table when the copy has its name
	key               []string     // the primary key of the table
	columns, values   []string     // the columns that are written, with the value of each for a row t of the table
	from, where       string       // the table as t, with joins, and more conditions for rows that can be copied
	batch, last       string       // the number by which rows are copied in batches, and a query for the last one of a batch, if there is one
}

// copyOf returns a copy with the same columns, except for those that the server computes.
func (p *mysqlPlanner) copyOf(table catalog.Name) tableCopy {
	c := tableCopy{table: table, fresh: beside("snowkey_new", table), old: beside("snowkey_old", table), key: p.primaryKey(table), from: p.name(table) + " AS t"}
	for _, column := range p.all {
		if column.Table == table && !column.computed {
			c.columns, c.values = append(c.columns, column.Name), append(c.values, "t."+p.Quote(column.Name))
		}
	}
	if len(c.key) > 0 && p.columns[place{table.Schema, table.Name, c.key[0]}].Bits > 0 {
		first := p.Quote(c.key[0])
		c.batch, c.last = "t."+first, p.lastOf(p.name(table), first)
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

// refuseTies refuses triggers and foreign keys that a copy would not have.
func (p *mysqlPlanner) refuseTies(c tableCopy, column catalog.Column, dropped []catalog.Reference) {
	const remedy = "plan without --online; or drop it, apply the phase widen, and "
	for _, t := range p.report.Triggers {
		if t.Table == c.table {
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
	fresh := p.name(c.fresh)
	p.emptyCopy(Widen, c, modify)
	for _, in := range p.standIns(references) {
		if in.table == c.table {
			in.body = []string{"IF @snowkey_copying IS NULL THEN " + strings.Join(in.body, "; ") + "; END IF"}
			trigger := in.named(ofCopy)
			p.add(Widen, p.makeTrigger("let the copy have the trigger that stands in for foreign keys", trigger, p.createStandIn(in, trigger, fresh), "nothing"))
		}
	}
	same := joined(c.key, and, func(_ int, column string) string { return p.Quote(column) + " = OLD." + p.Quote(column) })
	stays := joined(c.key, and, func(_ int, column string) string { return "NEW." + p.Quote(column) + " = OLD." + p.Quote(column) })
	// Not REPLACE: the triggers that stand in for foreign keys would delete the row's children.
	write := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON DUPLICATE KEY UPDATE %s", fresh, p.List(c.columns),
		joined(c.columns, ", ", func(_ int, column string) string { return "NEW." + p.Quote(column) }),
		joined(c.columns, ", ", func(_ int, column string) string { return p.Quote(column) + " = NEW." + p.Quote(column) }))
	remove := fmt.Sprintf("DELETE FROM %s WHERE %s", fresh, same)
	p.repeatWrites(Widen, c, remove, "IF NOT ("+stays+") THEN "+remove+"; END IF; "+write, write)
	p.add(Widen, p.filling(c))
	p.proveCopy(Widen, c)
}

// emptyCopy adds the steps that make the copy, by actions of an ALTER TABLE.
func (p *mysqlPlanner) emptyCopy(phase PhaseName, c tableCopy, actions []string) {
	name, fresh := p.name(c.table), p.name(c.fresh)
	like, altered := p.emptied(c, actions)
	p.createTable(phase, beside(emptyPrefix, c.table), "make an empty copy of "+name, like)
	p.createTable(phase, c.fresh, "change the columns of the copy", altered)
	p.add(phase, Step{
		Text: "let the copy count on from where the table does", SQL: "EXECUTE snowkey_count", Done: fmt.Sprintf("SELECT (%s) >= (%s)", p.counter(c.fresh), p.counter(c.table)), Locks: "nothing",
		Before: []string{"SET @snowkey_count = CONCAT(" + p.Literal("ALTER TABLE "+fresh+" AUTO_INCREMENT = ") + ", (" + p.counter(c.table) + "))", "PREPARE snowkey_count FROM @snowkey_count"},
		After:  []string{"DEALLOCATE PREPARE snowkey_count"},
	})
}

// emptyPrefix begins the name of a copy that doesn't have its own columns yet.
const emptyPrefix = "snowkey_empty"

// emptied returns SQL that makes an empty copy of a table, and SQL that completes it by actions
// of an ALTER TABLE and gives it its name.
func (p *mysqlPlanner) emptied(c tableCopy, actions []string) (like, altered string) {
	empty := p.name(beside(emptyPrefix, c.table))
	return "CREATE TABLE " + empty + " LIKE " + p.name(c.table), "ALTER TABLE " + empty + " " + strings.Join(actions, ", ") + ", RENAME TO " + p.name(c.fresh)
}

// repeatWrites adds the triggers that repeat in the copy what writers do. Before a row can be
// written there, it must be certain to be deleted there too.
func (p *mysqlPlanner) repeatWrites(phase PhaseName, c tableCopy, deleted, updated, inserted string) {
	name := p.name(c.table)
	for _, t := range [][2]string{{"AFTER DELETE", deleted}, {"AFTER UPDATE", updated}, {"AFTER INSERT", inserted}} {
		trigger := standIn{table: c.table, when: t[0]}.named("snowkey_copy_")
		s := p.makeTrigger("repeat in the copy what writers do: "+strings.ToLower(t[0])+" of "+name, trigger,
			fmt.Sprintf("CREATE TRIGGER %s %s ON %s FOR EACH ROW BEGIN %s; END", p.name(trigger), t[0], name, t[1]), "writers of "+name+" for a moment")
		s.Before, s.After = writesCopy, wroteCopy
		p.add(phase, s)
	}
}

// insertion returns SQL that copies rows, as far as the copy doesn't have them.
func (p *mysqlPlanner) insertion(c tableCopy, where string) string {
	first := p.name(c.fresh) + "." + p.Quote(c.columns[0])
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE %s%s LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE %s = %[7]s",
		p.name(c.fresh), p.List(c.columns), strings.Join(c.values, ", "), c.from, where, c.where, first)
}

// filling returns a step that copies the rows which the copy doesn't have.
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
	sum := func(values []string, from string) string {
		row := joined(values, ", ", func(_ int, value string) string { return "COALESCE(CRC32(" + value + "), '')" })
		return fmt.Sprintf("SELECT CONCAT_WS(' ', COUNT(*), BIT_XOR(CAST(CONV(LEFT(SHA2(CONCAT_WS(' ', %s), 256), 16), 16, 10) AS UNSIGNED))) AS rows_sum FROM %s", row, from)
	}
	copied := slices.Clone(c.columns)
	for i, column := range copied {
		copied[i] = p.Quote(column)
	}
	p.add(phase, Step{
		Text: "prove that the copy of " + p.name(c.table) + " has the same rows", Run: Check, Unit: p.begin(), Locks: "nothing; it reads both once, as they are at one moment",
		SQL:    fmt.Sprintf("SELECT o.rows_sum AS old, n.rows_sum AS new FROM (%s) AS o JOIN (%s) AS n WHERE o.rows_sum <> n.rows_sum", sum(c.values, c.from), sum(copied, p.name(c.fresh))),
		Remedy: "call snowkey migrate undo --phase " + string(phase) + ", and apply again",
	})
}

// swap adds the steps that put the copy in the place of its table, the first of which is like s.
func (p *mysqlPlanner) swap(c tableCopy, s Step) {
	name, old := p.name(c.table), p.name(c.old)
	s.Text, s.SQL = "put the copy in the place of "+name, fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %[1]s", name, old, p.name(c.fresh))
	s.Locks, s.Rewrites, s.Copies = "readers and writers of "+name+" for a moment", "", ""
	s.Undo = append(s.Undo, "DROP TABLE IF EXISTS "+old)
	p.add(Widen, s)
	p.addDDL(Widen, Step{Text: "drop the old table, with its triggers", SQL: "DROP TABLE IF EXISTS " + old, Locks: "nothing"}, c.old, 0)
}

// lastOf returns the query for the last row of a batch, and of a table, by a column.
func (p *mysqlPlanner) lastOf(table, column string) string {
	return fmt.Sprintf("SELECT COALESCE(MAX(n), -9223372036854775808), COALESCE((SELECT MAX(%s) FROM %s), 0) FROM (SELECT %[1]s AS n FROM %[2]s WHERE %[1]s > ? ORDER BY %[1]s LIMIT ?) AS r", column, table)
}
