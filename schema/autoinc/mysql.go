package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

var uncheckedForeignKeys, checkedForeignKeys = []string{"SET SESSION foreign_key_checks = 0"}, []string{"SET SESSION foreign_key_checks = 1"}

// A mysqlPlanner plans for MySQL and MariaDB.
type mysqlPlanner struct {
	*planner
	connected   []catalog.Column          // the keys, and all columns that must have the same type
	definitions map[catalog.Name][]string // the lines of their tables' CREATE TABLE statements, as written by the server
}

func planMySQL(ctx context.Context, conn *sql.Conn, p *planner) error {
	my, err := newMySQLPlanner(ctx, conn, p)
	if err != nil {
		return err
	}
	p.beginWiden()
	if err := my.widen(ctx, conn); err != nil {
		return err
	}
	p.notePhases()
	p.note(Drop, "The counter goes, behind the fence.")
	if p.Dialect == catalog.MySQL && my.copies() {
		p.note(Drop, "Beside each table a copy that does not count is made, as for the phase %s, and triggers stand in for foreign keys meanwhile. The server copies a table whose own copy would lack something, such as a trigger or a check, and its writers wait.", Widen)
	}
	for _, k := range p.keys {
		counts := k.Mechanism != catalog.SequenceDefault
		switch {
		case p.fenced(k):
		case counts:
			p.add(Fence, p.fence(k))
		default:
			p.note(Fence, "%s takes its numbers from a sequence, which a generated key does not move: it needs no fence.", p.column(k.Column))
		}
		my.drop(k)
		if !p.guarded(k, k.Column.Table) {
			p.add(Guard, p.guard(k))
		}
		if counts {
			s := reversed(p.fence(k), "take down the fence, which the guard has replaced")
			s.Lasting = true
			p.add(Guard, s)
		}
	}
	return nil
}

// A mysqlTable is a table with its engine, and with whether its rows have a history.
type mysqlTable struct {
	catalog.Name
	engine, kind string
}

// newMySQLPlanner reads the columns and the definitions of tables, and refuses tables that the
// server, or the user, can't alter.
func newMySQLPlanner(ctx context.Context, conn *sql.Conn, base *planner) (*mysqlPlanner, error) {
	p := &mysqlPlanner{planner: base, definitions: make(map[catalog.Name][]string)}
	current, err := database.One(ctx, conn, "SELECT COALESCE(DATABASE(), '')", database.Text)
	if err != nil {
		return nil, err
	}
	p.database = cmp.Or(current, p.keys[0].Column.Table.Schema)
	for _, k := range p.keys {
		p.connected = append(p.connected, k.Columns()...)
	}
	p.connect()
	defined := group(p.connected).tables
	if p.copies() {
		tables := p.tables()
		for _, r := range p.report.References {
			if slices.Contains(tables, r.Parent) {
				defined = append(defined, r.Child)
			}
		}
	}
	for _, table := range defined {
		if err := p.define(ctx, conn, table); err != nil {
			return nil, err
		}
	}
	tables, err := database.List(ctx, conn, p.query("tables"), func(t *mysqlTable) []any { return []any{&t.Schema, &t.Name.Name, &t.engine, &t.kind} })
	if err != nil {
		return nil, err
	}
	p.refuseTables(database.By(tables, func(t mysqlTable) catalog.Name { return t.Name }))
	return p, p.refusePrivileges(ctx, conn)
}

// define reads the definition of a table, unless it was read before.
func (p *mysqlPlanner) define(ctx context.Context, conn *sql.Conn, table catalog.Name) error {
	if p.definitions[table] != nil {
		return nil
	}
	type row struct{ name, definition string }
	r, err := database.One(ctx, conn, "SHOW CREATE TABLE "+p.name(table), func(r *row) []any { return []any{&r.name, &r.definition} })
	p.definitions[table] = strings.Split(r.definition, "\n")
	return err
}

func (p *mysqlPlanner) refuseTables(tables map[catalog.Name]mysqlTable) {
	for _, k := range p.keys {
		if p.columns[bare(k.Column)].invisible {
			p.refuse(k.Column, "leave its table out of the plan (Except, --except), because applications that do not know this key cannot send one, least of all one that the server has made by itself (sql_generate_invisible_primary_key); or make it visible, after every INSERT names its columns",
				"it is invisible, and the server does not let such a column be without a counter or default")
		}
		if engine := tables[k.Column.Table].engine; engine != "InnoDB" {
			p.refuse(k.Column, "ALTER TABLE … ENGINE=InnoDB first", "its table is kept by %s, which has no transactions", engine)
		}
		for _, c := range k.Columns() {
			if tables[c.Table].kind == "SYSTEM VERSIONED" {
				p.refuse(c, "leave the table of the key out (Except, --except), or ALTER TABLE … DROP SYSTEM VERSIONING, which deletes the history, and add it again at the end",
					"its table %s is system-versioned, and the server refuses to change its columns (4119)", p.name(c.Table))
			}
		}
	}
}

// refusePrivileges refuses tables on which the user lacks a privilege that the plan
// needs. We want to know now, because otherwise Apply would stop halfway, with foreign
// keys already dropped.
func (p *mysqlPlanner) refusePrivileges(ctx context.Context, conn *sql.Conn) error {
	type facts struct {
		role      string
		log, able bool
	}
	f, err := database.One(ctx, conn, "SELECT COALESCE(CURRENT_ROLE(), 'NONE'), @@log_bin, @@log_bin_trust_function_creators",
		func(f *facts) []any { return []any{&f.role, &f.log, &f.able} })
	if err != nil {
		return err
	}
	if f.log {
		p.note(Widen, "The server keeps a binary log. Prepare what reads it with types of its own, such as Debezium, for keys of 64 bits.")
	}
	if f.role != "NONE" {
		return nil // the privileges of a role aren't in the list, so we can't tell
	}
	for _, k := range p.keys {
		for _, c := range k.Columns() {
			owned, err := database.List(ctx, conn, p.query("privileges"), database.Text, c.Table.Schema, c.Table.Schema, c.Table.Name)
			if err != nil {
				return err
			}
			// The ledger needs some of them anyway, and the triggers that stand in for foreign
			// keys run as the user who applies the plan.
			needed := []string{"SELECT", "INSERT", "UPDATE", "DELETE", "ALTER", "CREATE", "DROP", "INDEX", "REFERENCES", "TRIGGER"}
			if f.log && !f.able {
				needed = append(needed, "SUPER") // needed to create triggers (1419)
			}
			lacking := slices.DeleteFunc(needed, func(privilege string) bool { return slices.Contains(owned, privilege) })
			if len(lacking) > 0 {
				p.refuse(c, "GRANT them, or let another user plan and apply; instead of SUPER, log_bin_trust_function_creators = 1 will do",
					"the user lacks %s on %s", strings.Join(lacking, ", "), p.name(c.Table))
			}
		}
	}
	return nil
}

// plainInteger matches the types that can be widened to bigint.
var plainInteger = regexp.MustCompile(`^(tinyint|smallint|mediumint|int|bigint)(\([0-9]+\))?( unsigned)?$`)

// modified returns the current definition of a column, and the same definition with 64
// bits. Both include all other attributes of the column, such as NOT NULL and COMMENT.
func (p *mysqlPlanner) modified(c catalog.Column) (was, wide string) {
	for _, line := range p.definitions[c.Table] {
		rest, ok := strings.CutPrefix(line, "  "+p.Quote(c.Name)+" "+c.Type)
		if !ok || rest != "" && rest[0] != ' ' && rest[0] != ',' {
			continue
		}
		kind := c.Type
		if plainInteger.MatchString(kind) {
			kind = "bigint"
			if c.Unsigned {
				kind += " unsigned"
			}
		} else if narrow(c) {
			p.refuse(c, "make it BIGINT by hand, and look at what the type was for", "it is %s, and only plain integers are widened", c.Type)
		}
		rest = strings.TrimSuffix(rest, ",")
		return p.Quote(c.Name) + " " + c.Type + rest, p.Quote(c.Name) + " " + kind + rest
	}
	p.refuse(c, "report this", "its definition is not found in what SHOW CREATE TABLE says")
	return "", ""
}

// connect adds the columns that foreign keys connect to the given ones, in either
// direction.
func (p *mysqlPlanner) connect() {
	for i := 0; i < len(p.connected); i++ { // the slice grows as we go
		for _, r := range p.report.References {
			for j := range r.Columns {
				child, parent := ends(r, j)
				for _, tie := range [][2]catalog.Column{{child, parent}, {parent, child}} {
					known, ok := p.columns[tie[1]]
					if ok && tie[0] == bare(p.connected[i]) && !has(p.connected, known.Column) {
						p.connected = append(p.connected, known.Column)
					}
				}
			}
		}
	}
}

// ends returns the n-th column of a foreign key, and the key that it references, without types.
func ends(r catalog.Reference, n int) (child, parent catalog.Column) {
	return catalog.Column{Table: r.Child, Name: r.Columns[n]}, catalog.Column{Table: r.Parent, Name: r.Keys[n]}
}

// widen plans to drop all foreign keys of the narrow columns, to widen the columns, and to
// add the foreign keys again.
func (p *mysqlPlanner) widen(ctx context.Context, conn *sql.Conn) error {
	p.refuseComputed(p.connected)
	columns := slices.DeleteFunc(slices.Clone(p.connected), func(c catalog.Column) bool { return !narrow(c) })
	if len(columns) == 0 {
		p.noteWide()
		return nil
	}
	switch {
	case p.copies():
		p.note(Widen, "Beside each table a copy with wide columns is made, in which triggers repeat what writers do. When it has all rows, the two change their names. Readers and writers go on. Free space for a second copy of all tables is needed.")
	case p.copiesOnline():
		p.note(Widen, "The server copies each table to widen its columns, and replays what writers do meanwhile.")
	default:
		p.note(Widen, "The server copies each table to widen its columns, and writers of that table wait until the copy is complete. If they can't wait, plan with --online.")
	}
	p.note(Widen, standInNote)
	p.note(Widen, "There is no transaction around these statements. Once this phase has begun, complete it.")
	references := p.held(columns)
	p.refuseSigns(references)
	if err := p.checkOrphans(ctx, conn, Widen, references); err != nil {
		return err
	}
	g := group(columns)
	var alter []Step
	var copies []tableCopy
	for _, table := range g.tables {
		s, modify := p.widenTable(table, g.columns[table])
		alter = append(alter, s)
		if p.copies() {
			c := p.copyOf(table, rekeying{}, "old", "new", modify)
			p.refuseCopy(c, g.columns[table][0])
			p.refuseTies(c, g.columns[table][0], references)
			copies = append(copies, c)
		}
	}
	if p.copies() {
		p.replace(Widen, references, copies, alter)
		return nil
	}
	made, dropped := p.triggerSteps(p.standIns(references), "snowkey_fk_", standInFor)
	p.withoutReferences(Widen, references, made, dropped, func() { p.add(Widen, alter...) })
	return nil
}

const standInNote = "Foreign keys are dropped before the columns that they tie are widened, and added again afterwards: the server has no other way. Triggers check these references meanwhile, and do what ON DELETE and ON UPDATE say. They differ from foreign keys: they fire the triggers of the rows that a cascade deletes or changes; they refuse to delete a row that others of its own table reference; and a statement that deletes from a table and reads its children fails (1442)."

// refuseComputed refuses narrow columns that the server computes.
func (p *mysqlPlanner) refuseComputed(columns []catalog.Column) {
	const remedy = "drop it and add it again as BIGINT"
	for _, c := range columns {
		if narrow(c) && p.columns[bare(c)].computed {
			p.refuse(c, remedy, "it is a generated column")
		}
		for _, g := range p.all {
			if g.computed && narrow(g.Column) && g.Table == c.Table && g.Name != c.Name && database.Contains(g.expression, c.Name) {
				p.refuse(g.Column, remedy, "it is %s, and the server computes it from %s", g.Type, p.Quote(c.Name))
			}
		}
	}
}

// refuseSigns refuses foreign keys between columns of which only one is unsigned.
func (p *mysqlPlanner) refuseSigns(references []catalog.Reference) {
	for _, r := range references {
		for i := range r.Columns {
			from, to := ends(r, i)
			child, parent := p.columns[from], p.columns[to]
			if child.Unsigned != parent.Unsigned {
				p.refuse(child.Column, "give both the same sign first", "it is %s and references %s, which is %s; the foreign key could not be added again", child.Type, p.column(parent.Column), parent.Type)
			}
		}
	}
}

// withoutReferences adds steps that drop foreign keys, then what plan adds, and then steps that
// add the foreign keys again. The triggers that stand in for them are made before, and dropped
// after that.
func (p *mysqlPlanner) withoutReferences(phase PhaseName, references []catalog.Reference, made, dropped []Step, plan func()) {
	p.add(phase, made...)
	var children []catalog.Name
	var again []Step
	for _, r := range references {
		if !slices.Contains(children, r.Child) {
			children = append(children, r.Child)
			drop, add := p.referenceSteps(r.Child, references)
			p.add(phase, drop)
			again = append(again, add...)
		}
	}
	plan()
	p.add(phase, again...)
	p.add(phase, dropped...)
}

// referenceSteps returns the step that drops a table's foreign keys, as far as they are among the
// references, and the steps that add them again and check its rows. The server would copy the
// table to check the rows itself. If the server has created an index for one of them, we
// make it an ordinary index without rebuilding it. When the foreign key is added again, the
// server would otherwise replace the index with one of another name.
func (p *mysqlPlanner) referenceSteps(child catalog.Name, references []catalog.Reference) (drop Step, again []Step) {
	name, alter := p.name(child), "ALTER TABLE "+p.name(child)+" "
	var adds, drops, indexes, orphans, names []string
	for _, r := range references {
		if r.Child != child {
			continue
		}
		adds, drops = append(adds, "ADD "+p.constraint(r)), append(drops, "DROP FOREIGN KEY "+p.Quote(r.Name))
		orphans, names = append(orphans, p.orphans(r)), append(names, r.Name)
		for _, line := range p.definitions[child] {
			name, ok := strings.CutPrefix(strings.TrimSuffix(line, ","), "  KEY ")
			name, plain := strings.CutSuffix(name, " ("+database.Joined(r.Columns, ",", func(_ int, c string) string { return p.Quote(c) })+")")
			if index := fmt.Sprintf("DROP INDEX %s, ADD INDEX %[1]s (%s)", name, p.List(r.Columns)); ok && plain && name != p.Quote(r.Name) && !slices.Contains(indexes, index) {
				indexes = append(indexes, index)
			}
		}
	}
	add := Step{
		Text: "add the foreign keys of " + name + " again", SQL: alter + strings.Join(adds, ", ") + inPlace, Undo: []string{alter + strings.Join(drops, ", ")},
		Done:  p.listed(len(names), "TABLE_CONSTRAINTS", "TABLE", child, " AND CONSTRAINT_TYPE = 'FOREIGN KEY' AND CONSTRAINT_NAME IN ("+p.Literals(names)+")"),
		Locks: "readers and writers for a moment only; this does not check the rows, the next steps do", Before: uncheckedForeignKeys, After: checkedForeignKeys,
	}
	drop = reversed(add, "drop the foreign keys of "+name+", to be added again below")
	drop.SQL, drop.Locks, drop.UndoChecks = alter+strings.Join(append(drops, indexes...), ", ")+inPlace, "readers and writers for a moment only", orphans
	again = []Step{add}
	for _, query := range orphans {
		again = append(again, Step{
			Text: "check that no row of " + name + " that was written meanwhile references a missing row", Run: Check, SQL: query,
			Locks: "nothing; it reads the table once", Remedy: "delete or mend these rows, which were written while nothing checked, and apply again",
		})
	}
	return drop, again
}

// reversed returns a step that does what undoes another one.
func reversed(s Step, text string) Step {
	return Step{Text: text, SQL: s.Undo[0], Done: "SELECT NOT (" + s.Done + ")", Undo: []string{s.SQL}, Locks: s.Locks, Before: s.Before, After: s.After}
}

const (
	inPlace     = ", ALGORITHM=INPLACE, LOCK=NONE"
	copying     = ", ALGORITHM=COPY, LOCK=SHARED"
	whileCopied = "writers of %s wait until it is copied; readers go on"
)

// copiesOnline reports whether the server lets writers go on while it copies a table.
func (s server) copiesOnline() bool { return s.Dialect == catalog.MariaDB && s.AtLeast(11, 2) }

// copies reports whether we copy tables ourselves while writers go on.
func (p *mysqlPlanner) copies() bool {
	return p.options.Online && (p.options.Rekey != nil || !p.copiesOnline())
}

// widenTable returns the step that has the server widen columns, with the actions in it.
func (p *mysqlPlanner) widenTable(table catalog.Name, columns []catalog.Column) (s Step, actions []string) {
	var back, outside []string
	for _, c := range columns {
		was, definition := p.modified(c)
		actions, back, outside = append(actions, "MODIFY "+definition), append(back, "MODIFY "+was), append(outside, p.outside(c))
	}
	name, names := p.name(table), namesOf(columns)
	copying, locks := copying, fmt.Sprintf(whileCopied, name)
	if p.copiesOnline() {
		// Without LOCK, the server still holds writers if it has to, instead of failing.
		copying, locks = ", ALGORITHM=COPY", "readers and writers of "+name+" for a moment only, unless a foreign key that stays has CASCADE or SET NULL"
	}
	return Step{
		Text:     "widen " + p.List(names) + " of " + name,
		SQL:      "ALTER TABLE " + name + " " + strings.Join(actions, ", ") + copying,
		Done:     p.listed(len(names), "COLUMNS", "TABLE", table, " AND COLUMN_NAME IN ("+p.Literals(names)+") AND DATA_TYPE = 'bigint'"),
		Locks:    locks,
		Rewrites: "copies the whole table and its indexes", Copies: name,
		Undo:       []string{"ALTER TABLE " + name + " " + strings.Join(back, ", ") + copying},
		UndoChecks: outside, Lasting: true,
	}, actions
}

// listed returns a query for whether a view of the catalog has n rows for a table or a trigger
// that meet more conditions.
func (s server) listed(n int, view, kind string, name catalog.Name, more string) string {
	return fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.%s WHERE %s_SCHEMA = %s AND %[3]s_NAME = %[5]s%[6]s", n, view, kind, s.Literal(name.Schema), s.Literal(name.Name), more)
}

// makeTrigger returns a step that creates a trigger, and that can be repeated and reversed.
func (p *mysqlPlanner) makeTrigger(text string, name catalog.Name, create, locks string) Step {
	drop := "DROP TRIGGER IF EXISTS " + p.name(name)
	return Step{Text: text, SQL: create, Done: p.listed(1, "TRIGGERS", "TRIGGER", name, ""), Locks: locks, Retry: drop, Undo: []string{drop}}
}

func (p *mysqlPlanner) drop(k catalog.Key) {
	table, column := k.Column.Table, p.Quote(k.Column.Name)
	alter := "ALTER TABLE " + p.name(table)
	done := p.listed(1, "COLUMNS", "TABLE", table, " AND COLUMN_NAME = "+p.Literal(k.Column.Name)+and)
	s := Step{Text: "stop numbering " + p.column(k.Column), Locks: "readers and writers for a moment only", Lasting: true}
	if k.Mechanism == catalog.SequenceDefault {
		s.SQL, s.Done = alter+" ALTER COLUMN "+column+" DROP DEFAULT", done+"COLUMN_DEFAULT IS NULL"
		s.Undo = []string{alter + " ALTER COLUMN " + column + " SET DEFAULT (" + k.Default + ")"}
		p.add(Drop, s)
		return
	}
	_, counting := p.modified(k.Column)
	definition := ""
	for _, t := range ddl.Tokens(counting, true) { // comments and defaults may contain the word too
		if t.Is("AUTO_INCREMENT") {
			definition = strings.TrimSuffix(counting[:t.Start], " ") + counting[t.End:]
		}
	}
	if definition == "" {
		p.refuse(k.Column, "report this", "its definition does not say AUTO_INCREMENT: %s", counting)
	}
	p.add(Drop, p.keepCounter(table, table))
	s.SQL, s.Done = alter+" MODIFY "+definition+inPlace, done+"EXTRA NOT LIKE '%auto_increment%'"
	s.Undo = []string{alter + " MODIFY " + counting + ", AUTO_INCREMENT = " + counted + " 1"}
	if p.Dialect == catalog.MySQL {
		if p.copies() && p.dropByCopy(k, s, "MODIFY "+definition) {
			return
		}
		s.SQL = alter + " MODIFY " + definition + copying
		s.Locks = fmt.Sprintf(whileCopied, p.name(table))
		s.Rewrites, s.Copies = "copies the whole table and its indexes: MySQL has no other way", p.name(table)
	}
	s.Before, s.After = uncheckedForeignKeys, checkedForeignKeys
	p.add(Drop, s)
}

// dropByCopy adds the steps that put a copy which doesn't count in the place of a table, unless a
// copy would lack something. s is the step that does the same while writers wait.
func (p *mysqlPlanner) dropByCopy(k catalog.Key, s Step, modify string) bool {
	c, fence := p.copyOf(k.Column.Table, rekeying{}, "old", "new", []string{modify}), p.fence(k)
	references := slices.DeleteFunc(slices.Clone(p.report.References), func(r catalog.Reference) bool { return r.Child != c.table && r.Parent != c.table })
	before := len(p.refusals)
	p.refuseCopy(c, k.Column)
	p.refuseTies(c, k.Column, references)
	if len(p.refusals) > before {
		p.refusals = p.refusals[:before]
		return false
	}
	fence.Text, fence.Undo, fence.Lasting = "fence the new table of "+p.name(c.table), nil, false // the guard takes its place
	p.replace(Drop, references, []tableCopy{c}, []Step{s}, fence)
	return true
}

// keepCounter returns a step that counts where the counter of a table stands, which may have
// another name by then.
func (p *mysqlPlanner) keepCounter(table, now catalog.Name) Step {
	return Step{Text: "keep where the counter of " + p.name(table) + " stands, for undo", Run: Count, Locks: "nothing", SQL: p.counter(now)}
}

// counter returns a query for where the counter of a table stands.
func (s server) counter(table catalog.Name) string {
	return fmt.Sprintf("SELECT COALESCE(AUTO_INCREMENT, 1) FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s", s.Literal(table.Schema), s.Literal(table.Name))
}
