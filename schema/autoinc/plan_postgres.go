package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed" // for the queries
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

//go:embed postgres_references.sql
var postgresReferences string

//go:embed postgres_columns.sql
var postgresColumns string

//go:embed postgres_widen.sql
var postgresObstacles string

// A postgresPlanner plans for Postgres.
type postgresPlanner struct {
	*planner
	facts     map[place]postgresColumn
	views     map[catalog.Name]postgresView
	uses      []use
	sequences map[catalog.Name]postgresSequence
	obstacles []obstacle

	roots       map[catalog.Name]catalog.Name   // maps a partition to its partitioned table, which is also mapped to itself
	members     map[catalog.Name][]catalog.Name // maps a partitioned table to its partitions, the deepest first, and itself
	partitioned map[catalog.Name]bool
	copies      []referenceCopy

	widened map[catalog.Name][]catalog.Column // the columns to widen, by table
	indexes []postgresIndex                   // the indexes on these columns
	checks  []postgresCheck

	publications []string // publications that contain tables of the plan
}

// An obstacle is a reason why the type of a column can't be altered, or why the column
// can't be replaced.
type obstacle struct {
	catalog.Column
	text string
}

func (o *obstacle) dest() []any { return append(path(&o.Column), &o.text) }

// A use is a view or another object that uses a column.
type use struct {
	view         catalog.Name
	dependent    string // describes the object if it isn't a view
	table        catalog.Name
	column       string
	materialized bool
}

// A postgresColumn has what we need to know before altering a column.
type postgresColumn struct {
	catalog.Column
	relation   string // r, p or f
	inherited  bool
	notNull    bool
	domain     bool
	expression string // the column's own default
	identity   string
	generated  string
	granted    bool // whether privileges were granted on the column itself
	comment    string
	required   string // the name of its NOT NULL constraint, on servers that name them
	settings   string // of its statistics, as ALTER COLUMN actions separated by commas
}

func (c *postgresColumn) dest() []any {
	return slices.Concat(path(&c.Column), []any{&c.relation, &c.inherited, &c.notNull, &c.domain, &c.expression, &c.identity, &c.generated, &c.granted, &c.comment, &c.required, &c.settings})
}

func newPostgresPlanner(p *planner) postgresPlanner {
	return postgresPlanner{planner: p, facts: make(map[place]postgresColumn), views: make(map[catalog.Name]postgresView),
		sequences: make(map[catalog.Name]postgresSequence)}
}

func (p *planner) planPostgres(ctx context.Context, conn *sql.Conn) error {
	database, err := database.One(ctx, conn, "SELECT current_database()", database.Text)
	if err != nil {
		return err
	}
	p.database = database
	pg := newPostgresPlanner(p)
	if err := pg.read(ctx, conn); err != nil {
		return err
	}
	for _, k := range p.keys {
		pg.refuseCounter(k)
	}
	if err := pg.resolveDefault(ctx, conn); err != nil {
		return err
	}
	p.count()
	tables, columns := pg.narrow()
	var held []reference
	for _, table := range tables {
		for _, r := range p.held(columns[table]) { // a partition may be dropped later
			if pg.root(r.Child) == r.Child && pg.root(r.Parent) == r.Parent && !slices.ContainsFunc(held, r.same) {
				held = append(held, r)
			}
		}
	}
	if err := p.checkOrphans(ctx, conn, held); err != nil {
		return err
	}
	if p.options.Online {
		if err := pg.widenOnline(ctx, conn); err != nil {
			return err
		}
	} else {
		pg.widen()
	}
	pg.fence()
	pg.switchOn()
	pg.drop()
	pg.guard()
	return nil
}

func (p *postgresPlanner) read(ctx context.Context, conn *sql.Conn) error {
	columns, err := database.List(ctx, conn, postgresColumns, (*postgresColumn).dest)
	if err != nil {
		return err
	}
	for _, c := range columns {
		p.facts[exactPlace(c.Column)] = c
	}
	type row struct {
		oid string
		reference
		column, key string
	}
	rows, err := database.List(ctx, conn, postgresReferences, func(r *row) []any {
		return []any{&r.oid, &r.Name, &r.Child.Schema, &r.Child.Name, &r.column, &r.Parent.Schema, &r.Parent.Name, &r.key,
			&r.OnUpdate, &r.OnDelete, &r.Match, &r.Detail, &r.Valid}
	})
	if err != nil {
		return err
	}
	for i, r := range rows {
		if i == 0 || rows[i-1].oid != r.oid {
			p.references = append(p.references, r.reference)
		}
		last := &p.references[len(p.references)-1]
		last.Columns, last.Keys = append(last.Columns, r.column), append(last.Keys, r.key)
	}
	p.uses, err = database.List(ctx, conn, database.PostgresUses, func(u *use) []any {
		return []any{&u.table.Schema, &u.table.Name, &u.column, &u.view.Schema, &u.view.Name, &u.materialized, &u.dependent}
	})
	if err != nil {
		return err
	}
	if p.obstacles, err = database.List(ctx, conn, postgresObstacles, (*obstacle).dest); err != nil {
		return err
	}
	if err := p.readPartitions(ctx, conn); err != nil {
		return err
	}
	published, err := database.List(ctx, conn, "SELECT schemaname, tablename, pubname FROM pg_publication_tables ORDER BY pubname", func(o *obstacle) []any {
		return []any{&o.Table.Schema, &o.Table.Name, &o.text}
	})
	if err != nil {
		return err
	}
	for _, o := range published {
		if slices.Contains(p.tables(), o.Table) && !slices.Contains(p.publications, o.text) {
			p.publications = append(p.publications, o.text)
		}
	}
	sequences, err := database.List(ctx, conn, postgresSequences, func(s *postgresSequence) []any {
		return []any{&s.name.Schema, &s.name.Name, &s.start, &s.increment, &s.min, &s.max, &s.cache, &s.cycle, &s.kind, &s.grants, &s.comment}
	})
	for _, s := range sequences {
		p.sequences[s.name] = s
	}
	if err != nil {
		return err
	}
	if err := p.readParts(ctx, conn); err != nil {
		return err
	}
	return p.readViews(ctx, conn)
}

// narrow returns the columns to widen, grouped by table. If a foreign key was declared
// on a partition, we return the column of the partitioned table instead, which
// determines the type.
func (p *postgresPlanner) narrow() (tables []catalog.Name, columns map[catalog.Name][]catalog.Column) {
	found, of := p.planner.narrow()
	columns = make(map[catalog.Name][]catalog.Column)
	for _, table := range found {
		for _, c := range of[table] {
			c.Table = p.root(table)
			if slices.ContainsFunc(columns[c.Table], sameAs(c)) {
				continue
			}
			if len(columns[c.Table]) == 0 {
				tables = append(tables, c.Table)
			}
			columns[c.Table] = append(columns[c.Table], c)
		}
	}
	return tables, columns
}

// everywhere returns the columns, along with the same columns of all partitions.
func (p *postgresPlanner) everywhere(columns []catalog.Column) []catalog.Column {
	all := slices.Clone(columns)
	for _, c := range columns {
		for _, member := range p.members[c.Table] {
			if c.Table = member; !slices.ContainsFunc(columns, sameAs(c)) {
				all = append(all, c)
			}
		}
	}
	return all
}

// refuseCounter refuses keys whose counter can't be removed on its own.
func (p *postgresPlanner) refuseCounter(k catalog.Key) {
	fact := p.facts[exactPlace(k.Column)]
	switch {
	case fact.relation == "f":
		p.refuse(k.Column, "plan on the server that has the table", "it is in a foreign table")
	case fact.identity == "" && fact.expression == "":
		p.refuse(k.Column, "ALTER TABLE … ALTER COLUMN … SET DEFAULT with the same expression, which takes the place of the domain's",
			"its default %s is that of its domain %s, which other columns may use", k.Default, k.Column.Type)
	case !fact.notNull:
		p.refuse(k.Column, "SET NOT NULL", "it may be null, so that a row without a key would go unnoticed")
	}
	if fact.identity == "" {
		return
	}
	// In Postgres 17 and later, partitions share the identity. ATTACH PARTITION gives
	// it to the partition itself but not to any partitions below it, and then DROP
	// IDENTITY fails.
	for _, name := range k.Inheritors {
		partition := catalog.Column{Table: name, Name: k.Column.Name}
		if k.Partitioned && p.major() >= 17 && p.facts[exactPlace(partition)].identity == "" {
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

const postgresExclusive = "ACCESS EXCLUSIVE on %s: readers and writers wait until the transaction ends"

// widen plans one transaction for each table. It alters all columns of the table at
// once, and drops the views that use these columns and creates them again.
func (p *postgresPlanner) widen() {
	tables, columns := p.narrow()
	if len(tables) == 0 {
		p.noteWide()
		return
	}
	for _, name := range p.publications {
		p.note(Widen, "The publication %s sends these tables to subscribers. On each subscriber first: make the same columns bigint, and create the table %s as it is here if the publication is FOR ALL TABLES.", p.Quote(name), progressTable)
	}
	if len(tables) == 0 {
		p.note(Widen, "Keys and children have 64 bits already: there is nothing to widen.")
		return
	}
	p.note(Widen, "Every key and every child gets 64 bits, one table at a time. Each table is rewritten once; its readers and writers wait meanwhile. If that takes too long, plan with --online.")
	p.note(Widen, "A statement that a client has prepared, and that returns a column whose type has changed, fails once (0A000, cached plan must not change result type): have clients connect again, or try again.")
	for _, table := range tables {
		var actions, back, names, checks []string
		relations := []catalog.Name{table}
		for _, c := range columns[table] {
			if !p.mayWiden(c) {
				continue
			}
			actions = append(actions, fmt.Sprintf("ALTER COLUMN %s TYPE bigint", p.Quote(c.Name)))
			back = append(back, fmt.Sprintf("ALTER COLUMN %s TYPE %s", p.Quote(c.Name), c.Type))
			names, checks = append(names, c.Name), append(checks, p.outside(c))
			for _, k := range p.keys {
				if same(k.Column, c) {
					checks = append(checks, p.beyond(k)...)
					relations = append(relations, k.Inheritors...)
				}
			}
		}
		for _, c := range p.everywhere(columns[table]) {
			if !slices.Contains(relations, c.Table) {
				relations = append(relations, c.Table)
			}
		}
		references := p.held(p.everywhere(columns[table]))
		for _, r := range references {
			if p.root(r.Parent) == table && r.Parent != table && slices.ContainsFunc(columns[table], func(c catalog.Column) bool { return slices.Contains(r.Keys, c.Name) }) {
				p.refuse(columns[table][0], "plan with --online, or drop it, apply the phase widen, and create it again",
					"the foreign key %s references the partition %s, and Postgres does not alter the type of what it references", p.Quote(r.Name), p.name(r.Parent))
			}
		}
		for _, r := range references {
			if r.Valid && p.root(r.Child) == r.Child {
				checks = append(checks, p.orphans(r))
			}
		}
		views := p.viewsOf(relations, names)
		unit := p.begin()
		p.lock(Widen, unit, againstAll, table, references)
		p.dropViews(Widen, unit, columns[table][0], views)
		p.add(Widen, Step{
			Text: "widen " + p.List(names) + " of " + p.name(table),
			SQL:  "ALTER TABLE " + p.name(table) + " " + strings.Join(actions, ", "), Unit: unit,
			Locks:      fmt.Sprintf(postgresExclusive, p.name(table)) + "; readers and writers of the tables that it references wait too",
			Rewrites:   "the whole table and all of its indexes, and checks its foreign keys again",
			Undo:       p.narrowed(table, []string{"ALTER TABLE " + p.name(table) + " " + strings.Join(back, ", ")}),
			UndoChecks: checks,
			Done:       p.wide(table, names), Lasting: true,
		})
		for _, k := range p.keys {
			if p.root(k.Column.Table) == table && slices.Contains(names, k.Column.Name) && p.narrowSequence(k) {
				p.add(Widen, Step{
					Text: "let the sequence of " + p.column(k.Column) + " count on beyond 32 bits",
					SQL:  "ALTER SEQUENCE " + p.name(k.Counter.Sequence) + " AS bigint", Unit: unit,
					Locks: "the sequence", Undo: []string{"ALTER SEQUENCE " + p.name(k.Counter.Sequence) + " AS " + p.sequences[k.Counter.Sequence].kind},
				})
			}
		}
		p.makeViews(Widen, unit, views)
	}
}

// wide returns a query for whether the columns have 64 bits.
func (p *postgresPlanner) wide(table catalog.Name, names []string) string {
	var literals []string
	for _, name := range names {
		literals = append(literals, p.Literal(name))
	}
	return fmt.Sprintf("SELECT (count(*) = %d)::int FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s AND a.attname IN (%s) AND a.atttypid = 'bigint'::regtype",
		len(names), p.Literal(table.Schema), p.Literal(table.Name), strings.Join(literals, ", "))
}

// lock locks a table and the tables at the other end of its references, all at once.
// Children come first, in the same order as for a session that writes to a child and
// then has to look up its parents.
func (p *postgresPlanner) lock(phase PhaseName, unit int, mode string, table catalog.Name, references []reference) {
	touched := []catalog.Name{p.root(table)} // the partitions are locked along with it
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
		for _, r := range p.references {
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
	p.add(phase, Step{
		Text: "lock all tables of this transaction, without waiting for long", Unit: unit, Run: locking,
		SQL:   "LOCK TABLE " + strings.Join(names, ", ") + " IN " + mode + " MODE",
		Locks: mode + " on these tables: " + waiting + " until the transaction ends",
	})
}

const (
	againstAll     = "ACCESS EXCLUSIVE"
	againstWriters = "SHARE ROW EXCLUSIVE"
)

// narrowSequence reports whether the key has its own sequence, and this sequence ends
// before the last bigint. Identity columns don't need this, because their sequence
// changes along with the column.
func (p *postgresPlanner) narrowSequence(k catalog.Key) bool {
	return k.Mechanism == catalog.Serial && k.Counter.Narrow
}

// beyond returns a query for whether the counter of a key that is widened has left the
// range that its sequence has now.
func (p *postgresPlanner) beyond(k catalog.Key) []string {
	s, known := p.sequences[k.Counter.Sequence]
	if !known || p.facts[exactPlace(k.Column)].identity == "" && !p.narrowSequence(k) {
		return nil
	}
	return []string{fmt.Sprintf("SELECT last_value FROM pg_sequences WHERE schemaname = %s AND sequencename = %s AND last_value > %d", p.Literal(s.name.Schema), p.Literal(s.name.Name), s.max)}
}

// mayWiden refuses a column if we can't alter its type.
func (p *postgresPlanner) mayWiden(c catalog.Column) bool {
	fact := p.facts[exactPlace(c)]
	before := len(p.refusals)
	if c.Type != "integer" && c.Type != "smallint" {
		p.refuse(c, "make it bigint by hand, and look at what the type was for", "it is %s, and only integer and smallint are widened", c.Type)
	}
	if fact.generated != "" {
		p.refuse(c, "drop it and add it again as bigint", "it is a generated column")
	}
	if fact.inherited {
		p.refuse(c, "alter the parent of its table by hand", "its table inherits it, or is a partition: the parent must be altered with it")
	}
	everywhere := p.everywhere([]catalog.Column{c})
	for _, o := range p.obstacles {
		if slices.ContainsFunc(everywhere, sameAs(o.Column)) {
			p.refuse(c, "drop that, or change it, apply the phase widen, and make it again; or leave the table out (Except, --except)", "%s", o.text)
		}
	}
	for _, u := range p.uses {
		if u.dependent != "" && slices.ContainsFunc(everywhere, sameAs(catalog.Column{Table: u.table, Name: u.column})) {
			p.refuse(c, "drop it, apply the phase widen, and create it again", "%s uses it, and Postgres does not alter its type meanwhile", u.dependent)
		}
	}
	return len(p.refusals) == before
}

func (p *postgresPlanner) fence() {
	p.note(Readers, "Ship readers that take 64 bits before the next phase: int64 in Go, strings in JSON, bigint in functions of the database.")
	p.note(Fence, "The database needs no change: a generated key does not move a sequence. Writers without keys and writers with keys can run side by side until the counter is dropped.")
}

func (p *postgresPlanner) switchOn() {
	p.note(SwitchOn, "Before the first generated key, have clients that keep prepared statements, such as pgx, connect again or DISCARD ALL: they know the narrow type, and refuse the key (greater than maximum value for int4).")
	p.note(SwitchOn, "From here on keys may be sent. Have all writers send generated keys, and apply the next phase when none is left that does not.")
	for _, k := range p.keys {
		if k.Mechanism == catalog.IdentityAlways {
			unit := p.begin()
			p.lock(SwitchOn, unit, againstAll, k.Column.Table, nil)
			p.add(SwitchOn, Step{
				Text: "let " + p.name(k.Column.Table) + " take keys that are sent",
				SQL:  fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET GENERATED BY DEFAULT", p.name(k.Column.Table), p.Quote(k.Column.Name)),
				Unit: unit, Locks: fmt.Sprintf(postgresExclusive, p.name(k.Column.Table)) + ", which is at once",
				Undo: []string{fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET GENERATED ALWAYS", p.name(k.Column.Table), p.Quote(k.Column.Name))},
				Done: fmt.Sprintf("SELECT count(*) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s AND attidentity <> 'a'", p.Literal(p.name(k.Column.Table)), p.Literal(k.Column.Name)), Lasting: true,
			})
		}
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
	if p.options.Default != "" {
		p.note(Drop, "From here on %s generates the keys of rows that come without one. The sequences of defaults stay, because other columns may use them; drop them when none does.", p.options.Default)
	} else {
		p.note(Drop, "From here on a writer that sends no key fails (23502). The sequences of defaults stay, because other columns may use them; drop them when none does.")
	}
	// Defaults have to go first, because they may use the sequence of an identity,
	// which can't be dropped until then.
	keys := slices.Clone(p.keys)
	identity := func(k catalog.Key) int {
		if p.facts[exactPlace(k.Column)].identity != "" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(keys, func(a, b catalog.Key) int { return cmp.Compare(identity(a), identity(b)) })
	for _, k := range keys {
		table, column := p.name(k.Column.Table), p.Quote(k.Column.Name)
		action := "DROP DEFAULT"
		undo := p.defaults(k.Column, column)
		var checks []string
		if identity(k) == 1 {
			action = "DROP IDENTITY"
			s := p.sequences[k.Counter.Sequence]
			sequence := p.name(s.name)
			undo = append([]string{p.identity(k, column, false, s.name)}, p.sequenceParts(s.name, sequence)...)
			undo = append(undo, fmt.Sprintf("SELECT setval(%s::regclass, coalesce(%s NULL, greatest(max(%s) + %d, %d)), false) FROM %s WHERE %[3]s < %[7]d",
				p.Literal(sequence), counted, column, s.increment, s.start, table, p.options.Floor))
			if narrow(k.Column) { // a column that is narrow again can't count from there
				checks = append(checks, fmt.Sprintf("SELECT %s 0 AS next WHERE %[1]s 0 > %d", counted, s.max))
			}
		}
		done := "NOT a.atthasdef"
		if p.options.Default != "" {
			set := "SET DEFAULT " + p.options.Default
			if identity(k) == 1 {
				set = action + ", ALTER COLUMN " + column + " " + set
				undo = append([]string{"ALTER TABLE " + table + " ALTER COLUMN " + column + " DROP DEFAULT"}, undo...)
			}
			action = set
			done = `EXISTS (SELECT FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND pg_get_expr(d.adbin, d.adrelid) !~ '\mnextval\(')`
		}
		unit := p.begin()
		p.lock(Drop, unit, againstAll, k.Column.Table, nil)
		if identity(k) == 1 {
			s := p.sequences[k.Counter.Sequence]
			p.add(Drop, Step{
				Text: "keep where the counter of " + p.column(k.Column) + " stands, for undo", Run: Count, Unit: unit, Locks: "nothing",
				SQL: fmt.Sprintf("SELECT last_value + CASE WHEN is_called THEN %d ELSE 0 END FROM %s", s.increment, p.name(s.name)),
			})
		}
		p.add(Drop, Step{
			Text: "stop numbering " + p.column(k.Column),
			SQL:  fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s %s", table, column, action),
			Unit: unit, Locks: fmt.Sprintf(postgresExclusive, table) + ", which is at once", Undo: undo,
			UndoChecks: checks,
			Done:       fmt.Sprintf("SELECT (%s AND a.attidentity = '')::int FROM pg_attribute a WHERE a.attrelid = %s::regclass AND a.attname = %s", done, p.Literal(table), p.Literal(k.Column.Name)), Lasting: true,
		})
	}
}

func (p *postgresPlanner) guard() {
	p.note(Guard, "A writer that sends a key below %d fails (23514), unless the row is there already: an upsert of an old row goes through.", p.options.Floor)
	p.note(Guard, "CHECK … NOT VALID is no such guard: it lets old rows stay, and fails every UPDATE of one.")
	function := func(schema string) string { return p.name(catalog.Name{Schema: schema, Name: database.GuardPrefix}) }
	var schemas []string
	for _, k := range p.keys {
		if schema := k.Column.Table.Schema; !slices.Contains(schemas, schema) {
			schemas = append(schemas, schema)
			p.add(Guard, Step{
				Text: "make the function that refuses",
				SQL: "CREATE OR REPLACE FUNCTION " + function(schema) + `() RETURNS trigger LANGUAGE plpgsql AS $snowkey$
BEGIN
	RAISE EXCEPTION 'snowkey: %.% is to be generated, and a key of this row was not', TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'check_violation';
END
$snowkey$`,
				Unit: p.begin(), Locks: "nothing",
				Done: fmt.Sprintf("SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = %s AND p.proname = %s",
					p.Literal(schema), p.Literal(database.GuardPrefix)), Lasting: true,
				Undo: []string{"DO $snowkey$ BEGIN DROP FUNCTION IF EXISTS " + function(schema) + "(); EXCEPTION WHEN dependent_objects_still_exist THEN NULL; END $snowkey$"}, // another plan may still use it
			})
		}
	}
	for _, k := range p.keys {
		tables := []catalog.Name{k.Column.Table}
		if !k.Partitioned {
			tables = append(tables, k.Inheritors...) // inheriting tables have their own triggers
		}
		for _, table := range tables {
			if p.guarded(k, table) {
				continue
			}
			name := p.guardName(k, table)
			trigger := p.Quote(name)
			unit := p.begin()
			p.lock(Guard, unit, againstWriters, table, nil)
			p.add(Guard, Step{
				Text: fmt.Sprintf("refuse new rows of %s with a key below %d", p.name(table), p.options.Floor),
				SQL: fmt.Sprintf("CREATE TRIGGER %s AFTER INSERT ON %s FOR EACH ROW WHEN (NEW.%s < %d) EXECUTE FUNCTION %s(%s)",
					trigger, p.name(table), p.Quote(k.Column.Name), p.options.Floor, function(k.Column.Table.Schema), p.Literal(k.Column.Name)),
				Unit: unit, Locks: "SHARE ROW EXCLUSIVE on " + p.name(table) + ": writers wait for a moment",
				Undo: []string{fmt.Sprintf("DROP TRIGGER IF EXISTS %s ON %s", trigger, p.name(table))},
				Done: fmt.Sprintf("SELECT count(*) FROM pg_trigger WHERE tgrelid = %s::regclass AND tgname = %s", p.Literal(p.name(table)), p.Literal(name)), Lasting: true,
			})
		}
	}
}

// sequenceParts returns SQL that gives a sequence the privileges and the comment of
// another one.
func (p *postgresPlanner) sequenceParts(like catalog.Name, name string) (statements []string) {
	s := p.sequences[like]
	for _, grant := range s.grants {
		statements = append(statements, "GRANT "+grant[0]+" ON SEQUENCE "+name+" TO "+p.role(grant[1])+grant[2])
	}
	if s.comment != "" {
		statements = append(statements, "COMMENT ON SEQUENCE "+name+" IS "+p.Literal(s.comment))
	}
	return statements
}

// role quotes the name of a role, which is empty for PUBLIC.
func (p *postgresPlanner) role(name string) string {
	if name == "" {
		return "PUBLIC"
	}
	return p.Quote(name)
}

// identity returns SQL that makes a column an identity column like the key, with a
// sequence of the given name.
func (p *postgresPlanner) identity(k catalog.Key, column string, always bool, sequence catalog.Name) string {
	generated := "BY DEFAULT"
	if always {
		generated = "ALWAYS"
	}
	s := p.sequences[k.Counter.Sequence]
	options := fmt.Sprintf("SEQUENCE NAME %s INCREMENT BY %d MINVALUE %d START WITH %d CACHE %d", p.name(sequence), s.increment, s.min, s.start, s.cache)
	if s.max != 1<<15-1 && s.max != 1<<31-1 {
		options += fmt.Sprintf(" MAXVALUE %d", s.max)
	}
	if s.cycle {
		options += " CYCLE"
	}
	return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s ADD GENERATED %s AS IDENTITY (%s)", p.name(k.Column.Table), column, generated, options)
}
