package autoinc

import (
	"context"
	"database/sql"
	_ "embed" // for the queries
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

//go:embed postgres_online.sql
var postgresInTheWay string

type postgresSequence struct {
	name                       catalog.Name
	start, increment, min, max int64
	cache                      int64
	cycle                      bool
	kind                       string // its type, such as integer
	grants                     lists  // of the form privilege, role, option
	comment                    string
}

const postgresSequences = `SELECT n.nspname, c.relname, q.seqstart, q.seqincrement, q.seqmin, q.seqmax, q.seqcache, q.seqcycle,  format_type(q.seqtypid, NULL), coalesce((
	SELECT json_agg(json_build_array(a.privilege_type, coalesce(r.rolname, ''), CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) ORDER BY a.privilege_type, r.rolname)
	FROM aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee WHERE a.grantee <> c.relowner)::text, '[]'), coalesce(obj_description(c.oid, 'pg_class'), '')
FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace`

// An onlinePlanner widens columns while applications keep using the tables. It adds a
// 64-bit column next to each narrow one. A trigger keeps the two equal for new rows,
// and a backfill copies the old rows in batches. The new column gets its own indexes
// and foreign keys, and finally replaces the narrow column.
type onlinePlanner struct {
	*postgresPlanner
	statistics []postgresStatistic
	grants     []columnGrant
	silent     bool                    // whether this user may keep triggers from firing
	swapped    []reference             // foreign keys that have their final names already
	renamed    []catalog.Name          // tables whose columns have their final names already
	afterwards map[catalog.Name][]Step // by partition: the steps that come after all swaps, see later
}

func (p *postgresPlanner) widenOnline(ctx context.Context, conn *sql.Conn) error {
	tables, columns := p.narrow()
	if len(tables) == 0 {
		p.noteWide()
		return nil
	}
	if p.major() < 14 {
		p.refuse(columns[tables[0]][0], "plan without --online", "Postgres %s cannot read a range of blocks, by which the new column is filled; 14 and later can", p.Version)
		return nil
	}
	o := onlinePlanner{postgresPlanner: p, afterwards: make(map[catalog.Name][]Step)}
	if err := o.read(ctx, conn, tables); err != nil {
		return err
	}
	p.note(Widen, "Beside each narrow column a new one of 64 bits is made, which a trigger keeps equal, and which takes its place at the end, one table after the other. Readers and writers go on; SELECT * has one more column meanwhile.")
	p.note(Widen, "Afterwards the column is the last of its table: first change every INSERT that names no columns and every reader that depends on their order.")
	p.note(Widen, "Free space for a second copy of each table is needed, and every row is updated once: adjust --batch-size and --pause so that vacuum keeps up.")
	if slices.ContainsFunc(tables, func(table catalog.Name) bool { return o.partitioned[table] }) {
		p.note(Widen, "Partitions may be made, attached and dropped during this phase. One that is detached has to be attached again, or dropped, before the phase can be completed or reversed.")
	}
	for _, table := range tables {
		o.prepare(table)
	}
	for _, table := range tables {
		o.fill(table)
	}
	for _, table := range tables {
		o.check(table)
		o.index(table)
	}
	var all []catalog.Column
	for _, table := range tables {
		all = append(all, columns[table]...)
	}
	references := p.held(p.everywhere(all))
	for _, r := range references {
		if !o.late(r) {
			o.reference(r)
		}
	}
	for _, table := range tables {
		o.swap(table)
	}
	for _, r := range references {
		if o.late(r) {
			o.complete(r)
		}
	}
	for _, partition := range slices.SortedFunc(maps.Keys(o.afterwards), compareNames) {
		unit := o.begin()
		for _, s := range o.afterwards[partition] {
			s.Unit = unit
			o.add(Widen, s)
		}
	}
	return nil
}

// major returns the major version of the server.
func (p *postgresPlanner) major() int {
	major, _, _ := strings.Cut(p.Version, ".")
	n, _ := strconv.Atoi(major)
	return n
}

func (o *onlinePlanner) read(ctx context.Context, conn *sql.Conn, tables []catalog.Name) error {
	silent := "SELECT current_setting('is_superuser') = 'on'"
	if o.major() >= 15 {
		silent += " OR has_parameter_privilege(current_user, 'session_replication_role', 'SET')"
	}
	var err error
	o.silent, err = database.One(ctx, conn, silent, func(yes *bool) []any { return []any{yes} })
	if err != nil {
		return err
	}
	problems, err := database.List(ctx, conn, postgresInTheWay, (*obstacle).dest, o.silent)
	if err != nil {
		return err
	}
	if err := o.readOnlineParts(ctx, conn); err != nil {
		return err
	}
	const remedy = "plan without --online, or drop it, apply the phase widen, and create it again"
	for _, table := range tables {
		for _, c := range o.widened[table] {
			o.mayWiden(c)
			fresh := catalog.Column{Table: table, Name: o.fresh(c)}
			everywhere := o.everywhere([]catalog.Column{c, fresh})
			for _, problem := range problems {
				if slices.ContainsFunc(everywhere, sameAs(problem.Column)) {
					o.refuse(c, remedy, "%s", problem.text)
				}
			}
			for _, x := range o.indexes {
				if o.root(x.table) == table && x.columns.has(c.Name) && x.problems != "" {
					o.refuse(c, remedy, "the index %s would have to be made again for the new column, and %s", o.Quote(x.name), x.problems)
				}
			}
			for _, k := range o.counting(c) {
				o.refuseSequence(k, remedy)
			}
		}
	}
	return nil
}

func (o *onlinePlanner) refuseSequence(k catalog.Key, remedy string) {
	if o.facts[exactPlace(k.Column)].identity == "" {
		return
	}
	if o.root(k.Column.Table) != k.Column.Table {
		o.refuse(k.Column, remedy, "it is the identity of one partition")
	}
	if len(k.SharedWith) > 0 {
		o.refuse(k.Column, remedy, "others count with the sequence of its identity, which would be another")
	}
}

// fresh returns the name of the new column that is going to replace c.
func (p *postgresPlanner) fresh(c catalog.Column) string { return database.Own("snowkey_new", c.Name) }

// replaced returns the names, but with the new column for each narrow one.
func (o *onlinePlanner) replaced(table catalog.Name, names []string) (replaced []string) {
	for _, name := range names {
		c := catalog.Column{Table: o.root(table), Name: name}
		if slices.ContainsFunc(o.widened[c.Table], sameAs(c)) {
			name = o.fresh(c)
		}
		replaced = append(replaced, name)
	}
	return replaced
}

func (o *onlinePlanner) names(table catalog.Name) (names []string) {
	for _, c := range o.widened[table] {
		names = append(names, c.Name)
	}
	return names
}

const (
	syncPrefix = "snowkey_sync"
	samePrefix = "snowkey_same"
	setPrefix  = "snowkey_set"
)

// Triggers fire in the order of their names, and this one has to come last.
const syncTrigger = "zzzz_snowkey_sync"

// prepare adds the columns, along with the trigger that keeps them equal, in a single
// short transaction. After a swap has been undone there is nothing left for its Undo to
// drop, which is why the Undo has IF EXISTS everywhere.
func (o *onlinePlanner) prepare(table catalog.Name) {
	var adds, checks, sets, drops, unchecks []string
	check := func(prefix string, c catalog.Column, condition string) {
		name := o.Quote(database.Own(prefix, c.Name))
		checks = append(checks, fmt.Sprintf("ADD CONSTRAINT %s CHECK (%s) NOT VALID", name, condition))
		unchecks = append(unchecks, "DROP CONSTRAINT IF EXISTS "+name)
	}
	for _, c := range o.widened[table] {
		fresh, old := o.Quote(o.fresh(c)), o.Quote(c.Name)
		adds = append(adds, "ADD COLUMN "+fresh+" bigint")
		drops = append(drops, "DROP COLUMN IF EXISTS "+fresh)
		sets = append(sets, fmt.Sprintf("NEW.%s := NEW.%s;", fresh, old))
		check(samePrefix, c, fresh+" IS NOT DISTINCT FROM "+old)
		if o.facts[exactPlace(c)].notNull {
			check(setPrefix, c, fresh+" IS NOT NULL")
		}
	}
	unit, name := o.begin(), o.name(table)
	function := o.name(catalog.Name{Schema: table.Schema, Name: database.Own(syncPrefix, table.Name)})
	locks := fmt.Sprintf(postgresExclusive, name) + ", which is at once"
	add := func(text, sql, undo string) {
		o.add(Widen, Step{Text: text, SQL: sql, Unit: unit, Locks: locks, Undo: []string{undo}})
	}
	alter := "ALTER TABLE " + name + " "
	o.lock(Widen, unit, againstAll, table, nil)
	o.checkPartitions(table, unit, true)
	add("add columns of 64 bits to "+name, alter+strings.Join(adds, ", "), alter+strings.Join(drops, ", "))
	add("make the function that keeps them equal",
		// The body contains names, which may contain any dollar quote.
		"CREATE FUNCTION "+function+"() RETURNS trigger LANGUAGE plpgsql AS "+o.Literal("BEGIN "+strings.Join(sets, " ")+" RETURN NEW; END"),
		"DROP FUNCTION IF EXISTS "+function+"()")
	add("have every new row and every update pass through it",
		fmt.Sprintf("CREATE TRIGGER %s BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION %s()", syncTrigger, name, function),
		fmt.Sprintf("DROP TRIGGER IF EXISTS %s ON %s", syncTrigger, name))
	add("refuse a row in which they are not equal, from here on", alter+strings.Join(checks, ", "), alter+strings.Join(unchecks, ", "))
}

// fill fills the new columns, and then proves that they are equal to the old ones.
func (o *onlinePlanner) fill(table catalog.Name) {
	var sets, differ, constraints []string
	for _, c := range o.widened[table] {
		fresh, old := o.Quote(o.fresh(c)), o.Quote(c.Name)
		sets = append(sets, fresh+" = "+old)
		differ = append(differ, fresh+" IS DISTINCT FROM "+old)
		constraints = append(constraints, o.Quote(database.Own(samePrefix, c.Name)))
		if o.facts[exactPlace(c)].notNull {
			constraints = append(constraints, o.Quote(database.Own(setPrefix, c.Name)))
		}
	}
	var before, after []string
	if o.silent {
		// This hides the backfill from triggers on updates, such as one that sets
		// updated_at.
		before, after = []string{"SET SESSION session_replication_role = replica"}, []string{"RESET session_replication_role"}
	}
	for _, member := range o.family(table) {
		if !o.partitioned[member] {
			o.add(Widen, o.filling(member, sets, differ, before, after))
		}
	}
	o.validate(table, "prove that the new columns are filled in every row", constraints)
}

// filling returns the step that fills the columns of a single table or partition.
func (o *onlinePlanner) filling(table catalog.Name, sets, differ, before, after []string) Step {
	s := Step{
		Text: "fill the new columns of " + o.name(table), Run: Backfill, Before: before, After: after,
		SQL: fmt.Sprintf("UPDATE %s SET %s WHERE ctid >= ('(' || $1::bigint || ',0)')::tid AND ctid < ('(' || $2::bigint || ',0)')::tid AND (%s)",
			o.name(table), strings.Join(sets, ", "), strings.Join(differ, " OR ")),
		Size: fmt.Sprintf("SELECT pg_relation_size(c.oid) / current_setting('block_size')::bigint, CASE WHEN c.relpages > 0 AND c.reltuples > 0 THEN ceil(c.reltuples / c.relpages)::bigint ELSE 50 END FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s",
			o.Literal(table.Schema), o.Literal(table.Name)),
		Locks: "the rows of a batch, for a moment", Rewrites: "every row, a batch at a time",
	}
	if gone := o.orGone(table); gone != "" {
		s.Done = "SELECT 0" + gone
	}
	return s
}

// late reports whether a foreign key can't be added before the swap, because it
// references a constraint that only the swap adds to a partitioned table. The swap then
// adds the foreign key without checking the rows, which is left to complete.
func (o *onlinePlanner) late(r reference) bool {
	return o.partitioned[r.Parent] && !slices.Equal(o.replaced(r.Parent, r.Keys), r.Keys)
}

// reference adds a foreign key between the new columns, next to the old foreign key. If
// the child is partitioned, its partitions get their foreign keys first. When Postgres
// attaches these to the foreign key of the table, it doesn't have to read the rows
// again.
func (o *onlinePlanner) reference(r reference) {
	for _, fresh := range o.copiesOf(r) {
		like := fresh.Name
		fresh.Name = database.Own("snowkey_fk", fresh.Name)
		fresh.Columns, fresh.Keys = o.replaced(r.Child, r.Columns), o.replaced(r.Parent, r.Keys)
		unit := o.begin()
		o.lock(Widen, unit, againstWriters, r.Child, []reference{r})
		o.add(Widen, Step{
			Text: "add a foreign key like " + o.Quote(like) + " between the new columns", Unit: unit,
			SQL:   o.addConstraint(fresh),
			Locks: fmt.Sprintf("SHARE ROW EXCLUSIVE on %s and %s: writers wait for a moment", o.name(fresh.Child), o.name(r.Parent)),
			Undo:  []string{o.dropConstraint(fresh)},
		})
		o.validateReference(fresh)
	}
}

// addConstraint returns SQL that adds a foreign key without checking the rows. On a
// partitioned table this requires that the partitions already have the foreign key, and
// that it has been validated there.
func (o *onlinePlanner) addConstraint(r reference) string {
	add := o.alter(r.Child) + "ADD " + o.constraint(r)
	if r.Valid && o.partitioned[r.Child] {
		return add
	}
	return add + " NOT VALID"
}

func (o *onlinePlanner) dropConstraint(r reference) string {
	return o.alter(r.Child) + "DROP CONSTRAINT IF EXISTS " + o.Quote(r.Name)
}

func (o *onlinePlanner) validateReference(r reference) {
	if r.Valid && !o.partitioned[r.Child] {
		o.validate(r.Child, "check it on every row", []string{o.Quote(r.Name)})
	}
}

// complete validates a foreign key that a swap has added. If the child is partitioned,
// so far only the partitions have the foreign key, and complete also adds it to the
// child itself.
func (o *onlinePlanner) complete(r reference) {
	for _, c := range o.copiesOf(r) {
		o.validateReference(c)
		if o.partitioned[c.Child] {
			unit := o.begin()
			o.lock(Widen, unit, againstWriters, c.Child, []reference{c})
			o.add(Widen, Step{
				Text: "add the foreign key " + o.Quote(c.Name) + ", which the partitions have already", Unit: unit, SQL: o.addConstraint(c),
				Locks: fmt.Sprintf("SHARE ROW EXCLUSIVE on %s and %s: writers wait for a moment", o.name(c.Child), o.name(c.Parent)),
			})
		}
	}
}

// swap replaces the old columns of a table with the new ones, in one transaction that
// doesn't read any rows.
func (o *onlinePlanner) swap(table catalog.Name) {
	unit, name := o.begin(), o.name(table)
	var references, undone []reference
	for _, r := range o.held(o.everywhere(o.widened[table])) {
		first := !slices.ContainsFunc(o.swapped, r.same)
		if first || o.late(r) && o.root(r.Parent) == table {
			references = append(references, r)
		}
		// Postgres can't alter a column of a partition while a foreign key references
		// it.
		if first || o.root(r.Parent) == table && o.partitioned[table] {
			undone = append(undone, r)
		}
	}
	o.swapped, o.renamed = append(o.swapped, references...), append(o.renamed, table)
	views := o.viewsOf(o.family(table), o.names(table))
	add := func(text, format string, args ...any) {
		o.add(Widen, Step{Text: text, SQL: fmt.Sprintf(format, args...), Unit: unit, Locks: "what was locked for the swap"})
	}
	o.lock(Widen, unit, againstAll, table, references)
	o.checkPartitions(table, unit, false)
	o.dropViews(Widen, unit, o.widened[table][0], views)
	for _, r := range references {
		copies := o.copiesOf(r)
		if o.late(r) {
			for _, c := range slices.Backward(copies) {
				add("drop the foreign key, which is added again below", "%s", o.dropConstraint(c))
			}
			continue
		}
		add("drop the old foreign key", "%sDROP CONSTRAINT %s", o.alter(r.Child), o.Quote(r.Name))
		for _, c := range copies {
			add := add
			if c.Child != r.Child {
				add = o.later(c.Child)
			}
			add("give the new one its name", "%sRENAME CONSTRAINT %s TO %s", o.alter(c.Child), o.Quote(database.Own("snowkey_fk", c.Name)), o.Quote(c.Name))
		}
	}
	add("drop the trigger", "DROP TRIGGER %s ON %s", syncTrigger, name)
	add("drop its function", "DROP FUNCTION %s()", o.name(catalog.Name{Schema: table.Schema, Name: database.Own(syncPrefix, table.Name)}))
	var drops []string
	for _, c := range o.widened[table] {
		fact, fresh := o.facts[exactPlace(c)], o.Quote(o.fresh(c))
		drops = append(drops, "DROP CONSTRAINT "+o.Quote(database.Own(samePrefix, c.Name)))
		if fact.notNull {
			const text = "take no nulls, which the constraint proves without reading"
			if fact.required != "" {
				add(text, "ALTER TABLE %s ADD CONSTRAINT %s NOT NULL %s", name, o.Quote(database.Own("snowkey_required", c.Name)), fresh)
			} else {
				add(text, "ALTER TABLE %s ALTER COLUMN %s SET NOT NULL", name, fresh)
			}
			drops = append(drops, "DROP CONSTRAINT "+o.Quote(database.Own(setPrefix, c.Name)))
		}
		for _, statement := range o.defaults(c, fresh) {
			add("give the new column the default", "%s", statement)
		}
		for _, k := range o.counting(c) {
			o.counter(k, fresh, add)
		}
	}
	for _, c := range o.widened[table] {
		drops = append(drops, "DROP COLUMN "+o.Quote(c.Name))
	}
	o.add(Widen, Step{
		Text: "drop the old columns, with their indexes and constraints", Unit: unit,
		SQL:   "ALTER TABLE " + name + " " + strings.Join(drops, ", "),
		Locks: "what was locked for the swap",
		Undo:  o.narrowAgain(table, undone), UndoChecks: o.narrowable(table, undone),
		Done: o.wide(table, o.names(table)), Lasting: true,
	})
	for _, c := range o.widened[table] {
		add("give the new column its name", "ALTER TABLE %s RENAME COLUMN %s TO %s", name, o.Quote(o.fresh(c)), o.Quote(c.Name))
		for _, k := range o.counting(c) {
			if sequence := k.Counter.Sequence; o.facts[exactPlace(k.Column)].identity != "" {
				add("give its sequence the name of the old", "ALTER SEQUENCE %s RENAME TO %s", o.name(o.freshSequence(sequence)), o.Quote(sequence.Name))
			}
		}
		if required := o.facts[exactPlace(c)].required; required != "" {
			add("give its constraint the name of the old", "ALTER TABLE %s RENAME CONSTRAINT %s TO %s", name, o.Quote(database.Own("snowkey_required", c.Name)), o.Quote(required))
		}
		for _, member := range o.family(table) {
			fact := o.fact(member, c)
			if fact.comment != "" {
				add("comment on it", "%s", o.ifThere(member, fmt.Sprintf("COMMENT ON COLUMN %s IS %s", o.column(fact.Column), o.Literal(fact.comment))))
			}
			for action := range strings.SplitSeq(fact.settings, ", SET") {
				if action = strings.TrimPrefix(action, "SET"); action != "" {
					add("collect statistics as for the old column; ANALYZE does", "ALTER TABLE %sONLY %s ALTER COLUMN %s SET%s", o.ifExists(member), o.name(member), o.Quote(c.Name), action)
				}
			}
		}
	}
	for _, member := range o.family(table) {
		o.renameParts(member, add)
	}
	for _, r := range references {
		if o.late(r) {
			if !slices.Contains(o.renamed, o.root(r.Child)) {
				r.Columns = o.replaced(r.Child, r.Columns)
			}
			for _, c := range o.copiesOf(r) {
				if !o.partitioned[c.Child] {
					add("add the foreign key, which is checked at the end", "%s", o.addConstraint(c))
				}
			}
		}
	}
	o.makeViews(Widen, unit, views)
}

// later returns a function that adds steps to run after all swaps, in a separate
// transaction for the partition. This keeps the swap of a table with many partitions
// short. The steps only rename copies of objects that the table has. They need no Undo,
// because the copies are dropped along with the table's own objects if the swap is
// undone.
func (o *onlinePlanner) later(partition catalog.Name) func(text, format string, args ...any) {
	return func(text, format string, args ...any) {
		o.afterwards[partition] = append(o.afterwards[partition], Step{
			Text: text, SQL: fmt.Sprintf(format, args...), Locks: fmt.Sprintf(postgresExclusive, o.name(partition)) + ", which is at once",
		})
	}
}

// fact returns what we know about a column in one partition of its table.
func (o *onlinePlanner) fact(partition catalog.Name, c catalog.Column) postgresColumn {
	c.Table = partition
	return o.facts[exactPlace(c)]
}

// narrowAgain returns SQL that reverses a swap, except that the columns remain the last
// ones of their table. The swap has also moved foreign keys to the new columns of other
// tables. As long as those tables still have both columns, we have to move these
// foreign keys back to the old ones.
func (o *onlinePlanner) narrowAgain(table catalog.Name, references []reference) (undo []string) {
	var types []string
	for _, r := range references {
		for _, c := range slices.Backward(o.copiesOf(r)) {
			undo = append(undo, o.dropConstraint(c))
		}
	}
	for _, c := range o.widened[table] {
		for _, k := range o.counting(c) {
			if o.narrowSequence(k) {
				undo = append(undo, "ALTER SEQUENCE "+o.ifExists(k.Column.Table)+o.name(k.Counter.Sequence)+" AS "+o.sequences[k.Counter.Sequence].kind)
			}
		}
		types = append(types, fmt.Sprintf("ALTER COLUMN %s TYPE %s", o.Quote(c.Name), c.Type))
	}
	undo = append(undo, o.narrowed(table, []string{"ALTER TABLE " + o.name(table) + " " + strings.Join(types, ", ")})...)
	for _, r := range references {
		for _, c := range o.copiesOf(r) { // each copy has a name of its own
			add := o.alter(c.Child) + "ADD " + o.constraint(c)
			if !c.Valid {
				add += " NOT VALID"
			}
			undo = append(undo, add)
		}
	}
	return undo
}

// narrowable returns the queries for rows that narrowAgain would fail on.
func (o *onlinePlanner) narrowable(table catalog.Name, references []reference) (checks []string) {
	for _, c := range o.widened[table] {
		checks = append(checks, o.outside(c))
		for _, k := range o.counting(c) {
			checks = append(checks, o.beyond(k)...)
		}
	}
	for _, r := range references {
		if r.Valid && o.root(r.Child) == r.Child && o.root(r.Parent) == r.Parent {
			checks = append(checks, o.orphans(r))
		}
	}
	return checks
}

func (o *onlinePlanner) freshSequence(sequence catalog.Name) catalog.Name {
	return catalog.Name{Schema: sequence.Schema, Name: database.Own("snowkey_sequence", sequence.Name)}
}

// counter hands the counter of a key over to the new column.
func (o *onlinePlanner) counter(k catalog.Key, fresh string, add func(text, format string, args ...any)) {
	fact, table, sequence := o.facts[exactPlace(k.Column)], o.name(k.Column.Table), k.Counter.Sequence
	if fact.identity == "" {
		if k.Mechanism == catalog.Serial {
			add("let the sequence belong to it", "%s", o.ifThere(k.Column.Table, fmt.Sprintf("ALTER SEQUENCE %s OWNED BY %s.%s", o.name(sequence), table, fresh)))
		}
		if o.narrowSequence(k) {
			add("let the sequence count on beyond 32 bits", "ALTER SEQUENCE %s%s AS bigint", o.ifExists(k.Column.Table), o.name(sequence))
		}
		return
	}
	add("number the new column as the old one was", "%s", o.identity(k, fresh, fact.identity == "a", o.freshSequence(sequence)))
	for _, statement := range o.sequenceParts(k.Counter.Sequence, o.name(o.freshSequence(sequence))) {
		add("give its sequence the privileges and the comment of the old", "%s", statement)
	}
	add("count on where the old one stands", "SELECT setval(%s::regclass, last_value, is_called) FROM %s", o.Literal(o.name(o.freshSequence(sequence))), o.name(sequence))
}
