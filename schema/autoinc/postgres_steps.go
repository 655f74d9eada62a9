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

func planPostgres(ctx context.Context, conn *sql.Conn, p *planner) error {
	pg := postgresPlanner{planner: p, phase: Widen}
	if err := pg.read(ctx, conn); err != nil {
		return err
	}
	if err := pg.chooseParts(ctx, conn); err != nil {
		return err
	}
	for _, k := range p.keys {
		pg.refuseCounter(k)
	}
	for _, c := range pg.widened.all() {
		pg.refuseAlter(c)
	}
	if err := pg.resolveDefault(ctx, conn); err != nil {
		return err
	}
	p.beginWiden()
	if err := p.checkOrphans(ctx, conn, Widen, slices.DeleteFunc(p.held(pg.widened.all()), func(r catalog.Reference) bool { return !pg.whole(r) })); err != nil {
		return err
	}
	switch {
	case len(pg.widened.tables) == 0:
		p.noteWide()
	case p.options.Online:
		if err := pg.widenOnline(ctx, conn); err != nil {
			return err
		}
	default:
		pg.widen()
	}
	p.notePhases()
	pg.switchOn()
	pg.drop()
	pg.guard()
	return nil
}

// A transaction adds steps to a phase that run in one transaction.
type transaction struct {
	p     *postgresPlanner
	phase PhaseName
	unit  int
}

const (
	againstAll     = "ACCESS EXCLUSIVE"
	againstWriters = "SHARE ROW EXCLUSIVE"
)

const postgresExclusive = againstAll + " on %s: readers and writers wait until the transaction ends"

// transaction begins with a step that locks tables and those at the ends of references, all at
// once. Children come first, in the same order as for a session that writes to a child and then
// has to look up its parents.
func (p *postgresPlanner) transaction(phase PhaseName, mode string, references []catalog.Reference, tables ...catalog.Name) transaction {
	var touched []catalog.Name
	for _, table := range tables {
		touched = append(touched, p.root(table)) // the partitions are locked along with it
	}
	for _, r := range references {
		touched = append(touched, p.root(r.Child), p.root(r.Parent))
	}
	var names []string
	placed := make(map[catalog.Name]bool)
	var place func(table catalog.Name)
	place = func(table catalog.Name) {
		if placed[table] {
			return
		}
		placed[table] = true
		for _, r := range p.report.References {
			if p.root(r.Parent) == table {
				place(p.root(r.Child))
			}
		}
		if slices.Contains(touched, table) {
			names = append(names, p.name(table))
		}
	}
	for _, table := range touched {
		place(table)
	}
	waiting := "readers and writers wait"
	if mode == againstWriters {
		waiting = "writers wait"
	}
	t := transaction{p, phase, p.begin()}
	t.add(Step{
		Text: "lock all tables of this transaction, without waiting for long", Run: locking,
		SQL:   "LOCK TABLE " + strings.Join(names, ", ") + " IN " + mode + " MODE",
		Locks: mode + " on these tables: " + waiting + " until the transaction ends",
	})
	return t
}

func (t transaction) add(steps ...Step) {
	for _, s := range steps {
		s.Unit, s.Locks = t.unit, cmp.Or(s.Locks, "what its transaction has locked")
		t.p.add(t.phase, s)
	}
}

// exec adds a step with the SQL that reverses it.
func (t transaction) exec(text, sql string, undo ...string) {
	t.add(Step{Text: text, SQL: sql, Undo: undo})
}

// refuseCounter refuses keys whose counter can't be removed on its own.
func (p *postgresPlanner) refuseCounter(k catalog.Key) {
	c, known := p.columns[bare(k.Column)]
	switch {
	case !known:
		p.refuse(k.Column, "plan on the server that has the table", "it is in a foreign table")
	case c.identity == "" && c.expression == "":
		p.refuse(k.Column, "ALTER TABLE … ALTER COLUMN … SET DEFAULT with the same expression, which takes the place of the domain's",
			"its default %s is that of its domain %s, which other columns may use", k.Default, k.Column.Type)
	case c.nullable:
		p.refuse(k.Column, "SET NOT NULL", "it may be null, so that a row without a key would go unnoticed")
	}
	if c.identity == "" {
		return
	}
	// In Postgres 17 and later, partitions share the identity. ATTACH PARTITION gives
	// it to the partition itself but not to any partitions below it, and then DROP
	// IDENTITY fails.
	for _, name := range k.Inheritors {
		if c := p.in(name, k.Column); c.Name != "" && c.identity == "" && k.Partitioned && p.AtLeast(17, 0) {
			p.refuse(k.Column, "detach that partition from its table and attach it again, which gives it the identity",
				"its partition %s does not have the identity (55000)", p.name(name))
		}
	}
	for _, other := range k.SharedWith {
		if !slices.ContainsFunc(p.keys, func(k catalog.Key) bool { return same(k.Column, other) }) {
			p.refuse(k.Column, fmt.Sprintf("give %s a sequence of its own, or plan its table too", p.column(other)),
				"%s counts with its sequence %s, which DROP IDENTITY drops", p.column(other), p.name(k.Counter.Sequence))
		}
	}
}

// refuseAlter refuses a column if we can't alter its type.
func (p *postgresPlanner) refuseAlter(c catalog.Column) {
	if p.phase == Widen && c.Type != "integer" && c.Type != "smallint" {
		p.refuse(c, "make it bigint by hand, and look at what the type was for", "it is %s, and only integer and smallint are widened", c.Type)
	}
	is := p.columns[bare(c)]
	if is.computed {
		p.refuse(c, "drop it and add it again as bigint", "it is a generated column")
	}
	if is.inherited {
		p.refuse(c, "alter the parent of its table by hand", "its table inherits it, or is a partition: the parent must be altered with it")
	}
	everywhere := p.everywhere([]catalog.Column{c})
	for _, o := range p.obstacles {
		if has(everywhere, o.Column) {
			p.refuse(c, fmt.Sprintf("drop that, or change it, apply the phase %s, and make it again; or leave the table out (Except, --except)", p.phase), "%s", o.text)
		}
	}
}

// widen plans one transaction for each table. It alters all columns of the table at
// once, and drops the views that use these columns and creates them again.
func (p *postgresPlanner) widen() {
	for _, name := range p.publications {
		p.note(Widen, "The publication %s sends these tables to subscribers. On each subscriber first: make the same columns bigint, and create the table %s as it is here if the publication is FOR ALL TABLES.", p.Quote(name), progressTable)
	}
	p.note(Widen, "Every key and every child gets 64 bits, one table at a time. Each table is rewritten once; its readers and writers wait meanwhile. If that takes too long, plan with --online.")
	p.note(Widen, "A statement that a client has prepared, and that returns a column whose type has changed, fails once (0A000, cached plan must not change result type): have clients connect again, or try again.")
	for _, table := range p.widened.tables {
		columns := p.widened.columns[table]
		references := p.held(p.everywhere(columns))
		for _, r := range references {
			if p.root(r.Parent) == table && r.Parent != table && slices.ContainsFunc(columns, func(c catalog.Column) bool { return slices.Contains(r.Keys, c.Name) }) {
				p.refuse(columns[0], "plan with --online, or drop it, apply the phase widen, and create it again",
					"the foreign key %s references the partition %s, and Postgres does not alter the type of what it references", p.Quote(r.Name), p.name(r.Parent))
			}
		}
		p.widenTable(table, columns, references)
	}
}

func (p *postgresPlanner) widenTable(table catalog.Name, columns []catalog.Column, references []catalog.Reference) {
	name, names := p.name(table), namesOf(columns)
	tx := p.transaction(Widen, againstAll, references, table)
	views := p.dropViews(tx, columns[0], table)
	tx.add(Step{
		Text:     "widen " + p.List(names) + " of " + name,
		SQL:      p.altered(columns, func(catalog.Column) string { return "bigint" }),
		Locks:    fmt.Sprintf(postgresExclusive, name) + "; readers and writers of the tables that it references wait too",
		Rewrites: "the whole table and all of its indexes, and checks its foreign keys again", Copies: name,
		Undo:       p.narrowed(table),
		UndoChecks: p.narrowable(table, references),
		Done:       p.wide(table), Lasting: true,
	})
	p.widenSequences(tx, table)
	tx.add(views...)
}

// widenSequences lets the sequences of a table's columns count beyond 32 bits.
func (p *postgresPlanner) widenSequences(tx transaction, table catalog.Name) {
	for _, c := range p.widened.columns[table] {
		for _, k := range p.counting(c) {
			if p.narrowSequence(k) {
				as := func(kind string) string {
					return p.ifThere(k.Column.Table, "ALTER SEQUENCE "+p.name(k.Counter.Sequence)+" AS "+kind)
				}
				tx.exec("let the sequence of "+p.column(k.Column)+" count on beyond 32 bits", as("bigint"), as(p.sequences[k.Counter.Sequence].kind))
			}
		}
	}
}

func namesOf(columns []catalog.Column) (names []string) {
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

// altered returns SQL that changes the types of columns of a table.
func (p *postgresPlanner) altered(columns []catalog.Column, kind func(catalog.Column) string) string {
	return "ALTER TABLE " + p.name(columns[0].Table) + " " + database.Joined(namesOf(columns), ", ", func(i int, name string) string {
		return "ALTER COLUMN " + p.Quote(name) + " TYPE " + kind(columns[i])
	})
}

// wide returns a query for whether the columns of a table have 64 bits.
func (p *postgresPlanner) wide(table catalog.Name) string {
	names := namesOf(p.widened.columns[table])
	return fmt.Sprintf("SELECT (count(*) = %d)::int FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s AND a.attname IN (%s) AND a.atttypid = 'bigint'::regtype",
		len(names), p.Literal(table.Schema), p.Literal(table.Name), p.Literals(names))
}

// narrowable returns the queries for rows and counters that keep the columns of a table from
// becoming narrow again.
func (p *postgresPlanner) narrowable(table catalog.Name, references []catalog.Reference) (checks []string) {
	for _, c := range p.widened.columns[table] {
		checks = append(checks, p.outside(c))
		for _, k := range p.counting(c) {
			if s, known := p.sequences[k.Counter.Sequence]; known && (p.isIdentity(k) || p.narrowSequence(k)) {
				checks = append(checks, fmt.Sprintf("SELECT last_value FROM pg_sequences WHERE schemaname = %s AND sequencename = %s AND last_value > %d", p.Literal(s.name.Schema), p.Literal(s.name.Name), s.max))
			}
		}
	}
	for _, r := range references {
		if r.Valid && p.whole(r) {
			checks = append(checks, p.orphans(r))
		}
	}
	return checks
}

func (p *postgresPlanner) switchOn() {
	for _, k := range p.keys {
		if k.Mechanism != catalog.IdentityAlways {
			continue
		}
		name, alter := p.name(k.Column.Table), "ALTER TABLE "+p.name(k.Column.Table)+" ALTER COLUMN "+p.Quote(k.Column.Name)+" SET GENERATED "
		p.transaction(SwitchOn, againstAll, nil, k.Column.Table).add(Step{
			Text: "let " + name + " take keys that are sent", SQL: alter + "BY DEFAULT", Undo: []string{alter + "ALWAYS"},
			Done: fmt.Sprintf("SELECT count(*) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s AND attidentity <> 'a'", p.Literal(name), p.Literal(k.Column.Name)), Lasting: true,
		})
	}
}

// resolveDefault finds the function that is to generate keys, and tries it.
func (p *postgresPlanner) resolveDefault(ctx context.Context, conn *sql.Conn) error {
	if p.options.Default == "" {
		return nil
	}
	names := ddl.Names(p.options.Default, false)
	if len(names) != 1 {
		return fmt.Errorf("autoinc: the default %q is not the name of a function, such as snowkey_next()", p.options.Default)
	}
	name := names[0]
	found, err := database.List(ctx, conn, "SELECT format('%I.%I()', n.nspname, p.proname) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.pronargs = 0 AND p.proname = $1 AND ($2 = '' OR n.nspname = $2)",
		database.Text, name[len(name)-1], strings.Join(name[:len(name)-1], "."))
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("autoinc: there are %d functions %s without parameters; snowkey sql prints one, or write schema.function()", len(found), p.options.Default)
	}
	p.options.Default = found[0]
	key, err := database.One(ctx, conn, "SELECT "+p.options.Default, database.Number)
	if err == nil && key < p.options.Floor {
		err = fmt.Errorf("autoinc: the default %s returns %d, which is below the floor %d", p.options.Default, key, p.options.Floor)
	}
	return err
}

func (p *postgresPlanner) drop() {
	what := "a writer that sends no key fails (23502)"
	if p.options.Default != "" {
		what = p.options.Default + " generates the keys of rows that come without one"
	}
	p.note(Drop, "From here on %s. The sequences of defaults stay, because other columns may use them; drop them when none does.", what)
	// Defaults have to go first, because they may use the sequence of an identity,
	// which can't be dropped until then.
	for _, identity := range []bool{false, true} {
		for _, k := range p.keys {
			if p.isIdentity(k) == identity {
				p.dropCounter(p.transaction(Drop, againstAll, nil, k.Column.Table), k, identity)
			}
		}
	}
}

func (p *postgresPlanner) dropCounter(tx transaction, k catalog.Key, identity bool) {
	table, column := p.name(k.Column.Table), p.Quote(k.Column.Name)
	alter := "ALTER TABLE " + table + " ALTER COLUMN " + column + " "
	s := Step{Text: "stop numbering " + p.column(k.Column), SQL: alter + "DROP DEFAULT", Undo: p.defaults(k.Column, column), Lasting: true}
	if identity {
		sequence := p.sequences[k.Counter.Sequence]
		name := p.name(sequence.name)
		tx.add(Step{
			Text: "keep where the counter of " + p.column(k.Column) + " stands, for undo", Run: Count, Locks: "nothing",
			SQL: fmt.Sprintf("SELECT last_value + CASE WHEN is_called THEN %d ELSE 0 END FROM %s", sequence.increment, name),
		})
		s.SQL = alter + "DROP IDENTITY"
		// A sequence that was used before has the last number rather than the next.
		s.Undo = append(p.identity(k, column, tx.phase == Rekey && k.Mechanism == catalog.IdentityAlways), fmt.Sprintf("SELECT setval(%s::regclass, CASE WHEN n - %[4]d >= %[5]d THEN n - %[4]d ELSE n END, n - %[4]d >= %[5]d) FROM (SELECT coalesce(%[2]s NULL, greatest(max(%[3]s) + %[4]d, %[5]d)) AS n FROM %[6]s WHERE %[3]s < %[7]d) AS counter",
			p.Literal(name), counted, column, sequence.increment, sequence.start, table, p.options.Floor))
		if narrow(k.Column) { // a column that is narrow again can't count from there
			s.UndoChecks = []string{fmt.Sprintf("SELECT %s 0 AS next WHERE %[1]s 0 > %d", counted, sequence.max)}
		}
	}
	done := "NOT a.atthasdef"
	if p.options.Default != "" {
		done = `EXISTS (SELECT FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND pg_get_expr(d.adbin, d.adrelid) !~ '\mnextval\(')`
		set := "SET DEFAULT " + p.options.Default
		if identity {
			s.SQL += ", ALTER COLUMN " + column + " " + set
			s.Undo = append([]string{alter + "DROP DEFAULT"}, s.Undo...)
		} else {
			s.SQL = alter + set
		}
	}
	s.Done = fmt.Sprintf("SELECT (%s AND a.attidentity = '')::int FROM pg_attribute a WHERE a.attrelid = %s::regclass AND a.attname = %s", done, p.Literal(table), p.Literal(k.Column.Name))
	tx.add(s)
}

// defaults returns SQL that sets the default of a column called name to the default of
// c. Partitions get the default of their table, unless theirs was different or they had
// none.
func (p *postgresPlanner) defaults(c catalog.Column, name string) (statements []string) {
	expression := p.columns[bare(c)].expression
	if expression != "" {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s", p.name(c.Table), name, expression))
	}
	for _, member := range p.family(c.Table) {
		own := p.in(member, c).expression
		if own == expression {
			continue
		}
		action := "DROP DEFAULT"
		if own != "" {
			action = "SET DEFAULT " + own
		}
		statements = append(statements, fmt.Sprintf("ALTER TABLE IF EXISTS ONLY %s ALTER COLUMN %s %s", p.name(member), name, action))
	}
	return statements
}

// identity returns SQL that makes a column an identity column like the key, with a sequence
// like that of the key.
func (p *postgresPlanner) identity(k catalog.Key, column string, always bool) []string {
	generated := "BY DEFAULT"
	if always {
		generated = "ALWAYS"
	}
	s := p.sequences[k.Counter.Sequence]
	return append([]string{fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s ADD GENERATED %s AS IDENTITY (%s)", p.name(k.Column.Table), column, generated, s.options)}, s.again...)
}

func (p *postgresPlanner) guard() {
	p.note(Guard, "CHECK … NOT VALID is no such guard: it lets old rows stay, and fails every UPDATE of one.")
	made := make(map[string]bool)
	for _, k := range p.keys {
		function := catalog.Name{Schema: k.Column.Table.Schema, Name: database.GuardPrefix}
		if !made[function.Schema] {
			made[function.Schema] = true
			called := p.name(function) + "()"
			p.add(Guard, Step{
				Text: "make the function that refuses", SQL: p.fill("guard function", "{function}", called), Unit: p.begin(), Locks: "nothing",
				Done: fmt.Sprintf("SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = %s AND p.proname = %s",
					p.Literal(function.Schema), p.Literal(function.Name)), Lasting: true,
				Undo: []string{"DO $snowkey$ BEGIN DROP FUNCTION IF EXISTS " + called + "; EXCEPTION WHEN dependent_objects_still_exist THEN NULL; END $snowkey$"}, // another plan may still use it
			})
		}
		tables := []catalog.Name{k.Column.Table}
		if !k.Partitioned {
			tables = append(tables, k.Inheritors...) // inheriting tables have their own triggers
		}
		for _, table := range tables {
			if p.guarded(k, table) {
				continue
			}
			name := p.guardName(k, table)
			on := p.Quote(name) + " ON " + p.name(table)
			p.transaction(Guard, againstWriters, nil, table).add(Step{
				Text: fmt.Sprintf("refuse new rows of %s with a key below %d", p.name(table), p.options.Floor),
				SQL: fmt.Sprintf("CREATE TRIGGER %s AFTER INSERT ON %s FOR EACH ROW WHEN (NEW.%s < %d) EXECUTE FUNCTION %s(%s)",
					p.Quote(name), p.name(table), p.Quote(k.Column.Name), p.options.Floor, p.name(function), p.Literal(k.Column.Name)),
				Undo: []string{"DROP TRIGGER IF EXISTS " + on},
				Done: fmt.Sprintf("SELECT count(*) FROM pg_trigger WHERE tgrelid = %s::regclass AND tgname = %s", p.Literal(p.name(table)), p.Literal(name)), Lasting: true,
			})
		}
	}
}
