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

// Online, columns are widened while applications keep using the tables. We add a 64-bit
// column next to each narrow one. A trigger keeps the two equal for new rows, and a backfill
// copies the old rows in batches. The new column gets its own indexes and foreign keys, and
// finally replaces the narrow column.

func (p *postgresPlanner) widenOnline(ctx context.Context, conn *sql.Conn) error {
	tables := p.widened.tables
	if !p.AtLeast(14, 0) {
		p.refuse(p.widened.all()[0], "plan without --online", "Postgres %s cannot read a range of blocks, by which the new column is filled; 14 and later can", p.Version)
		return nil
	}
	if err := p.refuseOnline(ctx, conn); err != nil {
		return err
	}
	p.note(Widen, "Beside each narrow column a new one of 64 bits is made, which a trigger keeps equal, and which takes its place at the end, one table after the other. Readers and writers go on; SELECT * has one more column meanwhile.")
	p.note(Widen, "Afterwards the column is the last of its table: first change every INSERT that names no columns and every reader that depends on their order.")
	p.note(Widen, "Free space for a second copy of each table is needed, and every row is updated once: adjust --batch-size and --pause so that vacuum keeps up.")
	if slices.ContainsFunc(tables, func(table catalog.Name) bool { return p.partitioned[table] }) {
		p.note(Widen, "Partitions may be made, attached and dropped during this phase. One that is detached has to be attached again, or dropped, before the phase can be completed or reversed.")
	}
	for _, table := range tables {
		p.prepare(table)
	}
	for _, table := range tables {
		p.fillRows(table, p.name(table))
		equal, _ := p.equal(table)
		p.validate(table, "prove that the new columns are filled in every row", equal)
	}
	for _, table := range tables {
		p.makeParts(table)
	}
	references := p.held(p.everywhere(p.widened.all()))
	for _, r := range references {
		if !p.late(r) {
			p.reference(r)
		}
	}
	for _, table := range tables {
		p.swap(table)
	}
	for _, r := range references {
		if p.late(r) {
			p.complete(r)
		}
	}
	return nil
}

// refuseOnline refuses columns that can't be replaced.
func (p *postgresPlanner) refuseOnline(ctx context.Context, conn *sql.Conn) error {
	obstacles, err := database.List(ctx, conn, p.query("obstacles online"), (*obstacle).dest, p.silent)
	remedy := fmt.Sprintf("plan without --online, or drop it, apply the phase %s, and create it again", p.phase)
	for _, c := range p.widened.all() {
		everywhere := p.everywhere([]catalog.Column{c, {Table: c.Table, Name: p.fresh(c)}})
		for _, o := range obstacles {
			if has(everywhere, o.Column) {
				p.refuse(c, remedy, "%s", o.text)
			}
		}
		for _, x := range p.parts {
			if p.root(x.table) == c.Table && slices.Contains(x.columns, c.Name) && x.problems != "" {
				p.refuse(c, remedy, "the index %s would have to be made again for the new column, and %s", p.Quote(x.name), x.problems)
			}
		}
		for _, k := range p.counting(c) {
			if p.isIdentity(k) && p.root(k.Column.Table) != k.Column.Table {
				p.refuse(k.Column, remedy, "it is the identity of one partition")
			}
			if p.isIdentity(k) && len(k.SharedWith) > 0 {
				p.refuse(k.Column, remedy, "others count with the sequence of its identity, which would be another")
			}
		}
	}
	return err
}

// fresh returns the name of the new column that is going to replace c.
func (server) fresh(c catalog.Column) string { return database.Own("snowkey_new", c.Name) }

// replaced returns the names, but with the new column for each narrow one.
func (p *postgresPlanner) replaced(table catalog.Name, names []string) (replaced []string) {
	for _, name := range names {
		c := catalog.Column{Table: p.root(table), Name: name}
		if has(p.widened.columns[c.Table], c) {
			name = p.fresh(c)
		}
		replaced = append(replaced, name)
	}
	return replaced
}

// A filled column is one that a trigger and a backfill keep at a value.
type filledColumn struct{ name, kind, value, missing string }

// filled returns the new columns of a table, for the row of an alias. They get the values of
// the old ones, or with RekeyOptions the keys that the maps have for these.
func (p *postgresPlanner) filled(table catalog.Name, row string) (filled []filledColumn) {
	for _, c := range p.widened.columns[table] {
		fresh, old := p.Quote(p.fresh(c)), row+"."+p.Quote(c.Name)
		f := filledColumn{fresh, "bigint", old, row + "." + fresh + " IS DISTINCT FROM " + old}
		if p.rekeying != nil {
			f.value, f.missing = p.rekeying.lookup(p.server, c, row), row+"."+fresh+" IS NULL AND "+old+" IS NOT NULL"
		}
		filled = append(filled, f)
	}
	if p.rekeying != nil && p.rekeying.kept(table) != "" {
		kept, old := p.Quote(p.rekeying.keepOld), row+"."+p.Quote(p.rekeying.keys[table].Column.Name)
		filled = append(filled, filledColumn{kept, p.rekeying.keys[table].Column.Type, old, row + "." + kept + " IS NULL"})
	}
	return filled
}

// own quotes the name of an object that we create for another one.
func (p *postgresPlanner) own(prefix, name string) string {
	return p.Quote(database.Own(prefix, name))
}

const (
	samePrefix       = "snowkey_same" // a check that two columns are equal
	checkPrefix      = "snowkey_check"
	referencePrefix  = "snowkey_fk"
	constraintPrefix = "snowkey_required" // the NOT NULL constraint of a column
)

// Triggers fire in the order of their names, and this one has to come last.
const syncTrigger = "zzzz_snowkey_sync"

func (p *postgresPlanner) syncFunction(table catalog.Name) string {
	return p.name(beside("snowkey_sync", table)) + "()"
}

// equal returns the names and conditions of the checks that keep the new columns of a table equal
// to the old ones, and that prove that they have no nulls. They are dropped along with either
// column.
func (p *postgresPlanner) equal(table catalog.Name) (names, conditions []string) {
	if p.phase == Rekey {
		return nil, nil
	}
	for _, c := range p.widened.columns[table] {
		fresh := p.Quote(p.fresh(c))
		condition := fresh + " IS NOT DISTINCT FROM " + p.Quote(c.Name)
		if !p.columns[bare(c)].nullable {
			condition += " AND " + fresh + " IS NOT NULL"
		}
		names, conditions = append(names, p.own(samePrefix, c.Name)), append(conditions, condition)
	}
	return names, conditions
}

// prepare adds the columns, along with the trigger that keeps them equal, in a single
// short transaction. After a swap has been undone there is nothing left for its Undo to
// drop, which is why the Undo has IF EXISTS everywhere.
func (p *postgresPlanner) prepare(table catalog.Name) {
	var adds, drops, sets []string
	for _, f := range p.filled(table, "NEW") {
		adds, drops = append(adds, "ADD COLUMN "+f.name+" "+f.kind), append(drops, "DROP COLUMN IF EXISTS "+f.name)
		sets = append(sets, fmt.Sprintf("NEW.%s := %s;", f.name, f.value))
	}
	name, function := p.name(table), p.syncFunction(table)
	alter := "ALTER TABLE " + name + " "
	language := "plpgsql"
	if p.phase == Rekey { // writers need no privilege for the maps
		language += " SECURITY DEFINER SET search_path = pg_catalog, pg_temp"
	}
	tx := p.transaction(p.phase, againstAll, nil, table)
	p.checkPartitions(tx, table, true)
	tx.exec("add columns of 64 bits to "+name, alter+strings.Join(adds, ", "), alter+strings.Join(drops, ", "))
	tx.exec("make the function that keeps them equal",
		// The body contains names, which may contain any dollar quote.
		"CREATE FUNCTION "+function+" RETURNS trigger LANGUAGE "+language+" AS "+p.Literal("BEGIN "+strings.Join(sets, " ")+" RETURN NEW; END"),
		"DROP FUNCTION IF EXISTS "+function)
	tx.exec("have every new row and every update pass through it",
		fmt.Sprintf("CREATE TRIGGER %s BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION %s", syncTrigger, name, function),
		fmt.Sprintf("DROP TRIGGER IF EXISTS %s ON %s", syncTrigger, name))
	if names, conditions := p.equal(table); len(names) > 0 {
		tx.exec("refuse a row in which they are not equal, from here on", alter+database.Joined(names, ", ", func(i int, name string) string {
			return fmt.Sprintf("ADD CONSTRAINT %s CHECK (%s) NOT VALID", name, conditions[i])
		}))
	}
}

// checkPartitions adds a step that fails if a partition of the plan was detached. If
// others is set, it also fails if there are partitions that aren't in the plan. That's
// necessary as long as the new columns don't exist, because nothing would fill the rows
// of such a partition. Later on, new partitions are created with these columns and the
// trigger.
func (p *postgresPlanner) checkPartitions(tx transaction, table catalog.Name, others bool) {
	if !p.partitioned[table] {
		return
	}
	names := database.Joined(p.family(table), ", ", func(_ int, member catalog.Name) string { return "(" + p.Literal(p.name(member)) + ")" })
	condition, remedy := "", "attach the partition again, or drop it"
	if others {
		condition, remedy = "p.name IS NULL OR ", "reverse this phase with snowkey migrate undo, and plan again"
	}
	tx.add(Step{
		Text: "check that the partitions of " + p.name(table) + " are those of the plan", Run: Check,
		SQL: fmt.Sprintf("SELECT coalesce(p.name, t.relid::regclass::text) AS partition FROM (VALUES %s) AS p (name) FULL JOIN pg_partition_tree(%s::regclass) AS t ON t.relid = to_regclass(p.name) WHERE %st.relid IS NULL AND to_regclass(p.name) IS NOT NULL LIMIT 1",
			names, p.Literal(p.name(table)), condition),
		Locks: "nothing", Remedy: remedy,
	})
}

// fillRows adds the steps that fill the new columns of a table. The first one stands for the
// partitions.
func (p *postgresPlanner) fillRows(table catalog.Name, copies string) {
	for _, member := range p.family(table) {
		if !p.partitioned[member] {
			s := p.filling(member)
			s.Copies, copies = copies, ""
			p.add(p.phase, s)
		}
	}
}

// filling returns the step that fills the columns of a single table or partition.
func (p *postgresPlanner) filling(table catalog.Name) Step {
	var sets, differ []string
	for _, f := range p.filled(p.root(table), "t") {
		sets, differ = append(sets, f.name+" = "+f.value), append(differ, f.missing)
	}
	s := Step{
		Text: "fill the new columns of " + p.name(table), Run: Backfill,
		SQL: fmt.Sprintf("UPDATE %s AS t SET %s WHERE ctid >= ('(' || greatest($1::bigint, 0) || ',0)')::tid AND ctid < ('(' || $2::bigint || ',0)')::tid AND (%s)",
			p.name(table), strings.Join(sets, ", "), strings.Join(differ, " OR ")),
		Size: fmt.Sprintf("SELECT least(greatest($1::bigint, 0) + greatest($2::bigint / rows, 1), blocks), blocks, 0 FROM (SELECT pg_relation_size(c.oid) / current_setting('block_size')::bigint AS blocks, CASE WHEN c.relpages > 0 AND c.reltuples > 0 THEN ceil(c.reltuples / c.relpages)::bigint ELSE 50 END AS rows FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s) AS size",
			p.Literal(table.Schema), p.Literal(table.Name)),
		Locks: "the rows of a batch, for a moment", Rewrites: "every row, a batch at a time",
	}
	if p.silent {
		// This hides the backfill from triggers on updates, such as one that sets
		// updated_at.
		s.Before, s.After = []string{"SET SESSION session_replication_role = replica"}, []string{"RESET session_replication_role"}
	} else { // these triggers may rely on the application's search_path
		s.Before, s.After = []string{"SET SESSION search_path TO DEFAULT"}, []string{"SET SESSION search_path TO ''"}
	}
	if gone := p.orGone(table); gone != "" {
		s.Done = "SELECT 0" + gone
	}
	return s
}

// late reports whether a foreign key can't be added before the swap, because it
// references a constraint that only the swap adds to a partitioned table. The swap then
// adds the foreign key without checking the rows, which is left to complete.
func (p *postgresPlanner) late(r catalog.Reference) bool {
	return p.partitioned[r.Parent] && !slices.Equal(p.replaced(r.Parent, r.Keys), r.Keys)
}

// reference adds a foreign key between the new columns, next to the old foreign key. If
// the child is partitioned, its partitions get their foreign keys first. When Postgres
// attaches these to the foreign key of the table, it doesn't have to read the rows
// again.
func (p *postgresPlanner) reference(r catalog.Reference) {
	for _, fresh := range p.copiesOf(r) {
		like := fresh.Name
		fresh.Name = database.Own(referencePrefix, fresh.Name)
		fresh.Columns, fresh.Keys = p.replaced(r.Child, r.Columns), p.replaced(r.Parent, r.Keys)
		p.transaction(p.phase, againstWriters, []catalog.Reference{r}, r.Child).
			exec("add a foreign key like "+p.Quote(like)+" between the new columns", p.addReference(fresh), p.dropReference(fresh))
		p.validateReference(fresh)
	}
}

// addReference returns SQL that adds a foreign key without checking the rows. On a
// partitioned table this requires that the partitions already have the foreign key, and
// that it has been validated there.
func (p *postgresPlanner) addReference(r catalog.Reference) string {
	add := p.alter(r.Child) + "ADD " + p.constraint(r)
	if r.Valid && p.partitioned[r.Child] {
		return add
	}
	return add + " NOT VALID"
}

// restoreReference returns SQL that adds a foreign key as it was.
func (p *postgresPlanner) restoreReference(r catalog.Reference) string {
	if r.Valid {
		return p.alter(r.Child) + "ADD " + p.constraint(r)
	}
	return p.addReference(r)
}

func (p *postgresPlanner) dropReference(r catalog.Reference) string {
	return p.alter(r.Child) + "DROP CONSTRAINT IF EXISTS " + p.Quote(r.Name)
}

func (p *postgresPlanner) validateReference(r catalog.Reference) {
	if r.Valid && !p.partitioned[r.Child] {
		p.validate(r.Child, "check it on every row", []string{p.Quote(r.Name)})
	}
}

// complete validates a foreign key that a swap has added. If the child is partitioned,
// so far only the partitions have the foreign key, and complete also adds it to the
// child itself.
func (p *postgresPlanner) complete(r catalog.Reference) {
	for _, c := range p.copiesOf(r) {
		p.validateReference(c)
		if p.partitioned[c.Child] {
			p.transaction(p.phase, againstWriters, []catalog.Reference{c}, c.Child).
				exec("add the foreign key "+p.Quote(c.Name)+", which the partitions have already", p.addReference(c))
		}
	}
}

// swap replaces the old columns of a table with the new ones, in one transaction that
// doesn't read any rows.
func (p *postgresPlanner) swap(table catalog.Name) {
	columns := p.widened.columns[table]
	var references, undone []catalog.Reference
	for _, r := range p.held(p.everywhere(columns)) {
		first := !slices.ContainsFunc(p.swapped, func(other catalog.Reference) bool { return sameReference(r, other) })
		if first || p.late(r) && p.root(r.Parent) == table {
			references = append(references, r)
		}
		// Postgres can't alter a column of a partition while a foreign key references
		// it.
		if first || p.root(r.Parent) == table && p.partitioned[table] {
			undone = append(undone, r)
		}
	}
	p.swapped, p.renamed = append(p.swapped, references...), append(p.renamed, table)
	tx := p.transaction(p.phase, againstAll, references, table)
	p.checkPartitions(tx, table, false)
	views := p.dropViews(tx, columns[0], table)
	p.swapReferences(tx, references)
	p.swapColumns(tx, table, p.narrowAgain(table, undone), p.narrowable(table, undone))
	p.widenSequences(tx, table)
	p.addLate(tx, references)
	tx.add(views...)
}

// swapColumns drops the old columns, and lets the new ones take their place. The undo is that
// of the drop.
func (p *postgresPlanner) swapColumns(tx transaction, table catalog.Name, undo, undoChecks []string) {
	columns, name := p.widened.columns[table], p.name(table)
	tx.exec("drop the trigger", "DROP TRIGGER "+syncTrigger+" ON "+name)
	tx.exec("drop its function", "DROP FUNCTION "+p.syncFunction(table))
	for _, c := range columns {
		p.handOver(tx, c)
	}
	tx.add(Step{
		Text: "drop the old columns, with their indexes and constraints",
		SQL:  "ALTER TABLE " + name + " " + database.Joined(columns, ", ", func(_ int, c catalog.Column) string { return "DROP COLUMN " + p.Quote(c.Name) }),
		Undo: undo, UndoChecks: undoChecks, Done: p.wide(table), Lasting: true,
	})
	for _, c := range columns {
		tx.exec("give the new column its name", "ALTER TABLE "+name+" RENAME COLUMN "+p.Quote(p.fresh(c))+" TO "+p.Quote(c.Name))
		if required := p.columns[bare(c)].required; required != "" {
			tx.exec("give its constraint the name of the old", "ALTER TABLE "+name+" RENAME CONSTRAINT "+p.own(constraintPrefix, c.Name)+" TO "+p.Quote(required))
		}
	}
	for _, member := range p.family(table) {
		p.renameParts(tx, member)
	}
}

// swapReferences drops the old foreign keys, and gives the new ones their names.
func (p *postgresPlanner) swapReferences(tx transaction, references []catalog.Reference) {
	for _, r := range references {
		copies := p.copiesOf(r)
		if p.late(r) {
			for _, c := range slices.Backward(copies) {
				tx.exec("drop the foreign key, which is added again below", p.dropReference(c))
			}
			continue
		}
		tx.exec("drop the old foreign key", p.alter(r.Child)+"DROP CONSTRAINT "+p.Quote(r.Name))
		for _, c := range copies {
			tx.exec("give the new one its name", p.alter(c.Child)+"RENAME CONSTRAINT "+p.own(referencePrefix, c.Name)+" TO "+p.Quote(c.Name))
		}
	}
}

// addLate adds the foreign keys that could not be added before the swap.
func (p *postgresPlanner) addLate(tx transaction, references []catalog.Reference) {
	for _, r := range references {
		if !p.late(r) {
			continue
		}
		if !slices.Contains(p.renamed, p.root(r.Child)) {
			r.Columns = p.replaced(r.Child, r.Columns)
		}
		for _, c := range p.copiesOf(r) {
			if !p.partitioned[c.Child] {
				tx.exec("add the foreign key, which is checked at the end", p.addReference(c))
			}
		}
	}
}

// handOver gives the new column what the old one has: NOT NULL, its default and its counter.
func (p *postgresPlanner) handOver(tx transaction, c catalog.Column) {
	was, alter, fresh := p.columns[bare(c)], "ALTER TABLE "+p.name(c.Table)+" ", p.Quote(p.fresh(c))
	if !was.nullable {
		action := "ALTER COLUMN " + fresh + " SET NOT NULL"
		if was.required != "" {
			action = "ADD CONSTRAINT " + p.own(constraintPrefix, c.Name) + " NOT NULL " + fresh
		}
		tx.exec("take no nulls, which the constraint proves without reading", alter+action)
	}
	for _, statement := range p.defaults(c, fresh) {
		tx.exec("give the new column the default", statement)
	}
	for _, k := range p.counting(c) {
		sequence := k.Counter.Sequence
		if p.isIdentity(k) {
			old := beside("snowkey_sequence", sequence)
			tx.exec("set the sequence of the old column aside", "ALTER SEQUENCE "+p.name(sequence)+" RENAME TO "+p.Quote(old.Name))
			for _, statement := range p.identity(k, fresh, was.identity == "a") {
				tx.exec("number the new column as the old one was", statement)
			}
			tx.exec("count on where the old one stands", fmt.Sprintf("SELECT setval(%s::regclass, last_value, is_called) FROM %s", p.Literal(p.name(sequence)), p.name(old)))
		} else if k.Mechanism == catalog.Serial {
			tx.exec("let the sequence belong to it", p.ifThere(k.Column.Table, fmt.Sprintf("ALTER SEQUENCE %s OWNED BY %s.%s", p.name(sequence), p.name(k.Column.Table), fresh)))
		}
	}
}

// narrowAgain returns SQL that reverses a swap, except that the columns remain the last
// ones of their table. The swap has also moved foreign keys to the new columns of other
// tables. As long as those tables still have both columns, we have to move these
// foreign keys back to the old ones.
func (p *postgresPlanner) narrowAgain(table catalog.Name, references []catalog.Reference) (undo []string) {
	var add []string
	for _, r := range references {
		copies := p.copiesOf(r)
		for _, c := range slices.Backward(copies) {
			undo = append(undo, p.dropReference(c))
		}
		for _, c := range copies { // each copy has a name of its own
			add = append(add, p.restoreReference(c))
		}
	}
	return slices.Concat(undo, p.narrowed(table), add)
}
