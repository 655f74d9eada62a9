package autoinc

import (
	"context"
	"database/sql"
	_ "embed" // for the queries
	"fmt"
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
	cycle, granted             bool
}

const postgresSequences = `SELECT n.nspname, c.relname, q.seqstart, q.seqincrement, q.seqmin, q.seqmax, q.seqcache, q.seqcycle, c.relacl IS NOT NULL
FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace`

// An onlinePlanner widens columns while applications use their tables. It adds a 64-bit
// column for each narrow one. A trigger keeps the two equal for new rows, and a
// backfill copies the old rows in batches. The new column gets indexes and foreign keys
// of its own, and at the end it replaces the narrow column.
type onlinePlanner struct {
	*postgresPlanner
	statistics []postgresStatistic
	grants     []columnGrant
	silent     bool        // whether this user may keep triggers from firing
	swapped    []reference // those that have their name already
}

func (p *postgresPlanner) widenOnline(ctx context.Context, conn *sql.Conn) error {
	tables, columns := p.narrow()
	if len(tables) == 0 {
		p.note(Widen, "Keys and children have 64 bits already: there is nothing to widen.")
		return nil
	}
	if p.major() < 14 {
		p.refuse(columns[tables[0]][0], "plan without -online", "Postgres %s cannot read a range of blocks, by which the new column is filled; 14 and later can", p.Version)
		return nil
	}
	o := onlinePlanner{postgresPlanner: p}
	if err := o.read(ctx, conn, tables); err != nil {
		return err
	}
	p.note(Widen, "Beside each narrow column a new one of 64 bits is made, which a trigger keeps equal, and which takes its place at the end, one table after the other. Readers and writers go on; SELECT * has one more column meanwhile.")
	p.note(Widen, "Afterwards the column is the last of its table: first change every INSERT that names no columns and every reader that depends on their order.")
	p.note(Widen, "Free space for a second copy of each table is needed, and every row is updated once: adjust -batch-size and -pause so that vacuum keeps up.")
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
	for _, r := range p.held(all) {
		o.reference(r)
	}
	for _, table := range tables {
		o.swap(table)
	}
	return nil
}

// major returns the server's major version.
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
	const remedy = "plan without -online, or drop it, apply the phase widen, and create it again"
	for _, table := range tables {
		for _, c := range o.widened[table] {
			o.mayWiden(c)
			for _, problem := range problems {
				if same(problem.Column, c) || problem.Table == table && problem.Name == o.fresh(c) {
					o.refuse(c, remedy, "%s", problem.text)
				}
			}
			for _, x := range o.indexes {
				if x.table == table && x.columns.has(c.Name) && x.problems != "" {
					o.refuse(c, remedy, "the index %s would have to be made again for the new column, and %s", o.Quote(x.name), x.problems)
				}
			}
			for _, k := range o.keys {
				if same(k.Column, c) {
					o.refuseSequence(k, remedy)
				}
			}
		}
	}
	return nil
}

func (o *onlinePlanner) refuseSequence(k catalog.Key, remedy string) {
	if o.facts[exactPlace(k.Column)].identity == "" {
		return
	}
	if len(k.SharedWith) > 0 {
		o.refuse(k.Column, remedy, "others count with the sequence of its identity, which would be another")
	}
	if o.sequences[k.Counter.Sequence].granted {
		o.refuse(k.Column, remedy, "its sequence %s has privileges of its own, which the new one would not", o.name(k.Counter.Sequence))
	}
}

// fresh is the name of the column that takes the place of another.
func (p *postgresPlanner) fresh(c catalog.Column) string { return database.Own("snowkey_new", c.Name) }

// replaced returns the columns of a table with the fresh ones for the narrow.
func (o *onlinePlanner) replaced(table catalog.Name, names []string) (replaced []string) {
	for _, name := range names {
		c := catalog.Column{Table: table, Name: name}
		if slices.ContainsFunc(o.widened[table], sameAs(c)) {
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

// The trigger fires after all others, in the order of their names.
const syncTrigger = "zzzz_snowkey_sync"

// prepare adds the columns, and the trigger that keeps them equal, in one short
// transaction. If it is undone after the swap, it finds nothing left to drop.
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
	add("add columns of 64 bits to "+name, alter+strings.Join(adds, ", "), alter+strings.Join(drops, ", "))
	add("make the function that keeps them equal",
		// Names are in it, which could hold any dollar quote.
		"CREATE FUNCTION "+function+"() RETURNS trigger LANGUAGE plpgsql AS "+o.Literal("BEGIN "+strings.Join(sets, " ")+" RETURN NEW; END"),
		"DROP FUNCTION IF EXISTS "+function+"()")
	add("have every new row and every update pass through it",
		fmt.Sprintf("CREATE TRIGGER %s BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION %s()", syncTrigger, name, function),
		fmt.Sprintf("DROP TRIGGER IF EXISTS %s ON %s", syncTrigger, name))
	add("refuse a row in which they are not equal, from here on", alter+strings.Join(checks, ", "), alter+strings.Join(unchecks, ", "))
}

// fill fills the columns, and proves that they are equal.
func (o *onlinePlanner) fill(table catalog.Name) {
	var sets, differ, validate []string
	for _, c := range o.widened[table] {
		fresh, old := o.Quote(o.fresh(c)), o.Quote(c.Name)
		sets = append(sets, fresh+" = "+old)
		differ = append(differ, fresh+" IS DISTINCT FROM "+old)
		validate = append(validate, "VALIDATE CONSTRAINT "+o.Quote(database.Own(samePrefix, c.Name)))
		if o.facts[exactPlace(c)].notNull {
			validate = append(validate, "VALIDATE CONSTRAINT "+o.Quote(database.Own(setPrefix, c.Name)))
		}
	}
	var before, after []string
	if o.silent {
		// Triggers on updates do not see that a row is filled, such as one that sets updated_at.
		before, after = []string{"SET SESSION session_replication_role = replica"}, []string{"RESET session_replication_role"}
	}
	o.add(Widen, Step{
		Text: "fill the new columns of " + o.name(table), Run: Backfill, Before: before, After: after,
		SQL: fmt.Sprintf("UPDATE %s SET %s WHERE ctid >= ('(' || $1::bigint || ',0)')::tid AND ctid < ('(' || $2::bigint || ',0)')::tid AND (%s)",
			o.name(table), strings.Join(sets, ", "), strings.Join(differ, " OR ")),
		Size: fmt.Sprintf("SELECT pg_relation_size(c.oid) / current_setting('block_size')::bigint, CASE WHEN c.relpages > 0 AND c.reltuples > 0 THEN ceil(c.reltuples / c.relpages)::bigint ELSE 50 END FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s",
			o.Literal(table.Schema), o.Literal(table.Name)),
		Locks: "the rows of a batch, for a moment", Rewrites: "every row, a batch at a time",
	})
	o.add(Widen, Step{
		Text: "prove that every row of " + o.name(table) + " is filled", Unit: o.begin(), Before: unhurried,
		SQL:   "ALTER TABLE " + o.name(table) + " " + strings.Join(validate, ", "),
		Locks: "SHARE UPDATE EXCLUSIVE: readers and writers go on; it reads the table once",
	})
}

// reference makes a foreign key between the new columns, beside the old one.
func (o *onlinePlanner) reference(r reference) {
	fresh := r
	fresh.Name = database.Own("snowkey_fk", r.Name)
	fresh.Columns, fresh.Keys = o.replaced(r.Child, r.Columns), o.replaced(r.Parent, r.Keys)
	unit := o.begin()
	o.lock(Widen, unit, againstWriters, r.Child, []reference{r})
	o.add(Widen, Step{
		Text: "add a foreign key like " + o.Quote(r.Name) + " between the new columns", Unit: unit,
		SQL:   "ALTER TABLE " + o.name(r.Child) + " ADD " + o.constraint(fresh) + " NOT VALID",
		Locks: fmt.Sprintf("SHARE ROW EXCLUSIVE on %s and %s: writers wait for a moment", o.name(r.Child), o.name(r.Parent)),
		Undo:  []string{fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s", o.name(r.Child), o.Quote(fresh.Name))},
	})
	if r.Valid {
		o.add(Widen, Step{
			Text: "check it on every row", Unit: o.begin(), Before: unhurried,
			SQL:   fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", o.name(r.Child), o.Quote(fresh.Name)),
			Locks: "SHARE UPDATE EXCLUSIVE: readers and writers go on",
		})
	}
}

// swap replaces the old columns of a table with the new ones, in one transaction that
// reads no row.
func (o *onlinePlanner) swap(table catalog.Name) {
	unit, name := o.begin(), o.name(table)
	references := slices.DeleteFunc(o.held(o.widened[table]), func(r reference) bool { return slices.ContainsFunc(o.swapped, r.same) })
	o.swapped = append(o.swapped, references...)
	views := o.viewsOf([]catalog.Name{table}, o.names(table))
	add := func(text, format string, args ...any) {
		o.add(Widen, Step{Text: text, SQL: fmt.Sprintf(format, args...), Unit: unit, Locks: "what was locked for the swap"})
	}
	o.lock(Widen, unit, againstAll, table, references)
	o.dropViews(Widen, unit, o.widened[table][0], views)
	for _, r := range references {
		add("drop the old foreign key", "ALTER TABLE %s DROP CONSTRAINT %s", o.name(r.Child), o.Quote(r.Name))
		add("give the new one its name", "ALTER TABLE %s RENAME CONSTRAINT %s TO %s", o.name(r.Child), o.Quote(database.Own("snowkey_fk", r.Name)), o.Quote(r.Name))
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
		if fact.expression != "" {
			add("give the new column the default", "ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s", name, fresh, fact.expression)
		}
		for _, k := range o.keys {
			if same(k.Column, c) {
				o.counter(k, fresh, add)
			}
		}
	}
	for _, c := range o.widened[table] {
		drops = append(drops, "DROP COLUMN "+o.Quote(c.Name))
	}
	o.add(Widen, Step{
		Text: "drop the old columns, with their indexes and constraints", Unit: unit,
		SQL:   "ALTER TABLE " + name + " " + strings.Join(drops, ", "),
		Locks: "what was locked for the swap",
		Undo:  o.narrowAgain(table, references),
		Done:  o.wide(table, o.names(table)), Lasting: true,
	})
	for _, c := range o.widened[table] {
		add("give the new column its name", "ALTER TABLE %s RENAME COLUMN %s TO %s", name, o.Quote(o.fresh(c)), o.Quote(c.Name))
		if k := slices.IndexFunc(o.keys, func(k catalog.Key) bool { return same(k.Column, c) }); k >= 0 && o.facts[exactPlace(c)].identity != "" {
			sequence := o.keys[k].Counter.Sequence
			add("give its sequence the name of the old", "ALTER SEQUENCE %s RENAME TO %s", o.name(o.freshSequence(sequence)), o.Quote(sequence.Name))
		}
		fact := o.facts[exactPlace(c)]
		if fact.comment != "" {
			add("comment on it", "COMMENT ON COLUMN %s IS %s", o.column(c), o.Literal(fact.comment))
		}
		if fact.required != "" {
			add("give its constraint the name of the old", "ALTER TABLE %s RENAME CONSTRAINT %s TO %s", name, o.Quote(database.Own("snowkey_required", c.Name)), o.Quote(fact.required))
		}
		for action := range strings.SplitSeq(fact.settings, ", SET") {
			if action = strings.TrimPrefix(action, "SET"); action != "" {
				add("collect statistics as for the old column; ANALYZE does", "ALTER TABLE %s ALTER COLUMN %s SET%s", name, o.Quote(c.Name), action)
			}
		}
	}
	o.renameParts(table, add)
	o.makeViews(Widen, unit, views)
}

// narrowAgain returns SQL that reverses a swap. The columns remain the last ones of
// their table. Foreign keys between this table and tables that still have both columns
// were moved to the new columns by the swap, and are moved back to the old ones here.
func (o *onlinePlanner) narrowAgain(table catalog.Name, references []reference) (undo []string) {
	var types []string
	for _, r := range references {
		undo = append(undo, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s", o.name(r.Child), o.Quote(r.Name)))
	}
	for _, c := range o.widened[table] {
		for _, k := range o.keys {
			if same(k.Column, c) && o.narrowSequence(k) {
				undo = append(undo, "ALTER SEQUENCE "+o.name(k.Counter.Sequence)+" AS integer")
			}
		}
		types = append(types, fmt.Sprintf("ALTER COLUMN %s TYPE %s", o.Quote(c.Name), c.Type))
	}
	undo = append(undo, o.narrowed(table, []string{"ALTER TABLE " + o.name(table) + " " + strings.Join(types, ", ")})...)
	for _, r := range references {
		add := "ALTER TABLE " + o.name(r.Child) + " ADD " + o.constraint(r)
		if !r.Valid {
			add += " NOT VALID"
		}
		undo = append(undo, add)
	}
	return undo
}

func (o *onlinePlanner) freshSequence(sequence catalog.Name) catalog.Name {
	return catalog.Name{Schema: sequence.Schema, Name: database.Own("snowkey_sequence", sequence.Name)}
}

// counter hands the counter of a key over to the new column.
func (o *onlinePlanner) counter(k catalog.Key, fresh string, add func(text, format string, args ...any)) {
	fact, table, sequence := o.facts[exactPlace(k.Column)], o.name(k.Column.Table), k.Counter.Sequence
	if fact.identity == "" {
		if k.Mechanism == catalog.Serial {
			add("let the sequence belong to it", "ALTER SEQUENCE %s OWNED BY %s.%s", o.name(sequence), table, fresh)
		}
		if o.narrowSequence(k) {
			add("let the sequence count on beyond 32 bits", "ALTER SEQUENCE %s AS bigint", o.name(sequence))
		}
		return
	}
	add("number the new column as the old one was", "%s", o.identity(k, fresh, fact.identity == "a", o.freshSequence(sequence)))
	add("count on where the old one stands", "SELECT setval(%s::regclass, last_value, is_called) FROM %s", o.Literal(o.name(o.freshSequence(sequence))), o.name(sequence))
}
