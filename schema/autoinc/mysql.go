package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

var uncheckedForeignKeys, checkedForeignKeys = []string{"SET SESSION foreign_key_checks = 0"}, []string{"SET SESSION foreign_key_checks = 1"}

// A mysqlPlanner plans for MySQL and MariaDB.
type mysqlPlanner struct {
	*planner
	connected   []catalog.Column                  // the keys, and all columns that must have the same type
	definitions map[catalog.Name][]string         // the lines of their tables' CREATE TABLE statements, as written by the server
	wideColumns map[catalog.Name][]catalog.Column // the columns to widen
}

func planMySQL(ctx context.Context, conn *sql.Conn, p *planner) error {
	my := mysqlPlanner{planner: p, definitions: make(map[catalog.Name][]string)}
	if err := my.read(ctx, conn); err != nil {
		return err
	}
	if err := my.refusePrivileges(ctx, conn); err != nil {
		return err
	}
	p.beginWiden()
	if err := my.widen(ctx, conn); err != nil {
		return err
	}
	p.notePhases()
	p.note(Drop, "The counter goes, behind the fence.")
	for _, k := range p.keys {
		my.fence(k)
		my.drop(k)
		my.guard(k)
	}
	return nil
}

// A mysqlTable is a table with its engine, and with whether its rows have a history.
type mysqlTable struct {
	catalog.Name
	engine, kind string
}

// read reads the columns and the definitions of tables, and refuses tables that the server
// can't alter.
func (p *mysqlPlanner) read(ctx context.Context, conn *sql.Conn) error {
	current, err := database.One(ctx, conn, "SELECT COALESCE(DATABASE(), '')", database.Text)
	if err != nil {
		return err
	}
	p.database = cmp.Or(current, p.keys[0].Column.Table.Schema)
	if err := p.readColumns(ctx, conn, p.server); err != nil {
		return err
	}
	for _, k := range p.keys {
		p.connected = append(p.connected, k.Columns()...)
	}
	p.connect()
	for _, table := range group(p.connected).tables {
		if err := p.define(ctx, conn, table); err != nil {
			return err
		}
	}
	tables, err := database.List(ctx, conn, p.query("tables"), func(t *mysqlTable) []any { return []any{&t.Schema, &t.Name.Name, &t.engine, &t.kind} })
	p.refuseTables(by(tables, func(t mysqlTable) catalog.Name { return t.Name }))
	return err
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
		if p.columns[exactPlace(k.Column)].invisible {
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
			needed := p.privileges(c.Table)
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

// privileges returns those that the steps for a table need. The triggers that stand in for
// its foreign keys run as the user who applies the plan.
func (p *mysqlPlanner) privileges(table catalog.Name) []string {
	needed := []string{"SELECT", "INSERT", "ALTER", "CREATE", "DROP", "INDEX", "REFERENCES", "TRIGGER"}
	of := func(does func(r catalog.Reference) bool) bool {
		return slices.ContainsFunc(p.report.References, func(r catalog.Reference) bool { return r.Child == table && does(r) })
	}
	if p.copies() || of(func(r catalog.Reference) bool { return r.OnDelete == "CASCADE" }) {
		needed = append(needed, "DELETE")
	}
	if p.copies() || of(func(r catalog.Reference) bool {
		return r.OnDelete == "SET NULL" || r.OnUpdate == "CASCADE" || r.OnUpdate == "SET NULL"
	}) {
		needed = append(needed, "UPDATE")
	}
	return needed
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
	add := func(table catalog.Name, name string) {
		known, ok := p.columns[place{table.Schema, table.Name, name}]
		if ok && !has(p.connected, known.Column) {
			p.connected = append(p.connected, known.Column)
		}
	}
	for i := 0; i < len(p.connected); i++ { // the slice grows as we go
		c := p.connected[i]
		for _, r := range p.report.References {
			for j := range r.Columns {
				if r.Child == c.Table && r.Columns[j] == c.Name {
					add(r.Parent, r.Keys[j])
				}
				if r.Parent == c.Table && r.Keys[j] == c.Name {
					add(r.Child, r.Columns[j])
				}
			}
		}
	}
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
	g := group(columns)
	p.wideColumns = g.columns
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
	made, dropped := p.triggerSteps(p.standIns(references), "snowkey_fk_", "stand in for foreign keys")
	for _, s := range made {
		p.add(Widen, s)
	}
	children, byChild := groupByChild(references)
	for _, child := range children {
		p.dropReferences(Widen, child, byChild[child])
	}
	var swaps []func()
	for _, table := range g.tables {
		s, modify := p.widenTable(table, g.columns[table])
		if !p.copies() {
			p.add(Widen, s)
			continue
		}
		c := p.copyOf(table)
		p.refuseCopy(c, g.columns[table][0])
		p.refuseTies(c, g.columns[table][0], references)
		p.fillCopy(c, modify, references)
		swaps = append(swaps, func() { p.swap(c, s) })
	}
	for _, swap := range swaps {
		swap()
	}
	for _, child := range children {
		p.addReferences(Widen, child, byChild[child])
	}
	for _, s := range dropped {
		p.add(Widen, s)
	}
	return nil
}

const standInNote = "Foreign keys are dropped before the columns that they tie are widened, and added again afterwards: the server has no other way. Triggers check these references meanwhile, and do what ON DELETE and ON UPDATE say. They differ from foreign keys: they fire the triggers of the rows that a cascade deletes or changes; they refuse to delete a row that others of its own table reference; and a statement that deletes from a table and reads its children fails (1442)."

// groupByChild groups references by their child, in order.
func groupByChild(references []catalog.Reference) (children []catalog.Name, byChild map[catalog.Name][]catalog.Reference) {
	byChild = make(map[catalog.Name][]catalog.Reference)
	for _, r := range references {
		if len(byChild[r.Child]) == 0 {
			children = append(children, r.Child)
		}
		byChild[r.Child] = append(byChild[r.Child], r)
	}
	return children, byChild
}

// refuseComputed refuses narrow columns that the server computes.
func (p *mysqlPlanner) refuseComputed(columns []catalog.Column) {
	const remedy = "drop it and add it again as BIGINT"
	for _, c := range columns {
		if narrow(c) && p.columns[exactPlace(c)].computed {
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
		for i, name := range r.Columns {
			child, parent := p.columns[place{r.Child.Schema, r.Child.Name, name}], p.columns[place{r.Parent.Schema, r.Parent.Name, r.Keys[i]}]
			if child.Unsigned != parent.Unsigned {
				p.refuse(child.Column, "give both the same sign first", "it is %s and references %s, which is %s; the foreign key could not be added again", child.Type, p.column(parent.Column), parent.Type)
			}
		}
	}
}

// dropReferences drops the foreign keys of a table. If the server has created an index for
// one of them, we make it an ordinary index without rebuilding it. When the foreign key is
// added again, the server would otherwise replace the index with one of another name.
func (p *mysqlPlanner) dropReferences(phase PhaseName, child catalog.Name, references []catalog.Reference) {
	var drops, indexes, orphans []string
	for _, r := range references {
		orphans, drops = append(orphans, p.orphans(r)), append(drops, "DROP FOREIGN KEY "+p.Quote(r.Name))
		for _, line := range p.definitions[child] {
			name, ok := strings.CutPrefix(strings.TrimSuffix(line, ","), "  KEY ")
			name, plain := strings.CutSuffix(name, " ("+joined(r.Columns, ",", func(_ int, c string) string { return p.Quote(c) })+")")
			if index := fmt.Sprintf("DROP INDEX %s, ADD INDEX %[1]s (%s)", name, p.List(r.Columns)); ok && plain && name != p.Quote(r.Name) && !slices.Contains(indexes, index) {
				indexes = append(indexes, index)
			}
		}
	}
	p.add(phase, Step{
		Text: "drop the foreign keys of " + p.name(child) + ", to be added again below",
		SQL:  "ALTER TABLE " + p.name(child) + " " + strings.Join(append(drops, indexes...), ", ") + inPlace,
		Done: p.counted(child, references, 0), Locks: "readers and writers for a moment only",
		Before: uncheckedForeignKeys, After: checkedForeignKeys, // see addReferences
		Undo:       []string{p.adding(child, references)},
		UndoChecks: orphans,
	})
}

const (
	inPlace = ", ALGORITHM=INPLACE, LOCK=NONE"
	copying = ", ALGORITHM=COPY, LOCK=SHARED"
)

// whileCopied says who waits while the server copies a table.
func whileCopied(table string) string {
	return "writers of " + table + " wait until it is copied; readers go on"
}

// copiesOnline reports whether the server lets writers go on while it copies a table.
func (s server) copiesOnline() bool { return s.Dialect == catalog.MariaDB && s.AtLeast(11, 2) }

// copies reports whether we copy tables ourselves while writers go on.
func (p *mysqlPlanner) copies() bool {
	return p.options.Online && (p.options.Rekey != nil || !p.copiesOnline())
}

func (p *mysqlPlanner) adding(child catalog.Name, references []catalog.Reference) string {
	return "ALTER TABLE " + p.name(child) + " " + joined(references, ", ", func(_ int, r catalog.Reference) string { return "ADD " + p.constraint(r) }) + inPlace
}

// addReferences adds the foreign keys of a table without checking its rows, because the
// server would copy the table to check them, and then checks them.
func (p *mysqlPlanner) addReferences(phase PhaseName, child catalog.Name, references []catalog.Reference) {
	drop := func(_ int, r catalog.Reference) string { return "DROP FOREIGN KEY " + p.Quote(r.Name) }
	p.add(phase, Step{
		Text: "add the foreign keys of " + p.name(child) + " again",
		SQL:  p.adding(child, references),
		Done: p.counted(child, references, len(references)), Locks: "readers and writers for a moment only; this does not check the rows, the next steps do",
		Before: uncheckedForeignKeys, After: checkedForeignKeys,
		Undo: []string{"ALTER TABLE " + p.name(child) + " " + joined(references, ", ", drop)},
	})
	for _, r := range references {
		p.add(phase, Step{
			Text: "check that no row of " + p.name(child) + " that was written meanwhile references a missing row", Run: Check, SQL: p.orphans(r),
			Locks: "nothing; it reads the table once", Remedy: "delete or mend these rows, which were written while nothing checked, and apply again",
		})
	}
}

// widenTable returns the step that has the server widen columns, with the actions in it.
func (p *mysqlPlanner) widenTable(table catalog.Name, columns []catalog.Column) (s Step, actions []string) {
	var back, outside []string
	for _, c := range columns {
		was, definition := p.modified(c)
		actions, back, outside = append(actions, "MODIFY "+definition), append(back, "MODIFY "+was), append(outside, p.outside(c))
	}
	name, names := p.name(table), namesOf(columns)
	copying, locks := copying, whileCopied(name)
	if p.copiesOnline() {
		// Without LOCK, the server still holds writers if it has to, instead of failing.
		copying, locks = ", ALGORITHM=COPY", "readers and writers of "+name+" for a moment only, unless a foreign key that stays has CASCADE or SET NULL"
	}
	return Step{
		Text:     "widen " + p.List(names) + " of " + name,
		SQL:      "ALTER TABLE " + name + " " + strings.Join(actions, ", ") + copying,
		Done:     p.wide(table, names),
		Locks:    locks,
		Rewrites: "copies the whole table and its indexes", Copies: name,
		Undo:       []string{"ALTER TABLE " + name + " " + strings.Join(back, ", ") + copying},
		UndoChecks: outside, Lasting: true,
	}, actions
}

// wide returns a query for whether columns of a table have 64 bits.
func (s server) wide(table catalog.Name, names []string) string {
	return fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND COLUMN_NAME IN (%s) AND DATA_TYPE = 'bigint'",
		len(names), s.Literal(table.Schema), s.Literal(table.Name), joined(names, ", ", func(_ int, name string) string { return s.Literal(name) }))
}

// counted returns a query for whether exactly n of the references exist.
func (s server) counted(child catalog.Name, references []catalog.Reference, n int) string {
	names := joined(references, ", ", func(_ int, r catalog.Reference) string { return s.Literal(r.Name) })
	return fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND CONSTRAINT_TYPE = 'FOREIGN KEY' AND CONSTRAINT_NAME IN (%s)",
		n, s.Literal(child.Schema), s.Literal(child.Name), names)
}

// trigger returns a step that rejects new rows of a table if they meet a condition.
func (p *mysqlPlanner) trigger(k catalog.Key, name, text, condition, what string) Step {
	table := k.Column.Table
	trigger := catalog.Name{Schema: table.Schema, Name: name}
	const most = 128 // characters of a message
	message := "snowkey: " + table.Name + "." + k.Column.Name + " is to be generated, and " + what
	if utf8.RuneCountInString(message) > most {
		message = "snowkey: the key is to be generated, and " + what
	}
	return Step{
		Text: text,
		SQL: fmt.Sprintf("CREATE TRIGGER %s BEFORE INSERT ON %s FOR EACH ROW IF %s THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = %s; END IF",
			p.name(trigger), p.name(table), condition, p.Literal(message)),
		Done: p.triggers(trigger, 1), Lasting: true,
		Locks: "writers of " + p.name(table) + " for a moment", Undo: []string{dropTrigger + p.name(trigger)},
	}
}

// makeTrigger returns a step that creates a trigger, and that can be repeated and reversed.
func (p *mysqlPlanner) makeTrigger(text string, name catalog.Name, create, locks string) Step {
	drop := dropTrigger + p.name(name)
	return Step{Text: text, SQL: create, Done: p.triggers(name, 1), Locks: locks, Retry: drop, Undo: []string{drop}}
}

const dropTrigger = "DROP TRIGGER IF EXISTS "

// triggers returns a query for whether a trigger exists (n is 1), or doesn't (n is 0).
func (s server) triggers(name catalog.Name, n int) string {
	return fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = %s AND TRIGGER_NAME = %s", n, s.Literal(name.Schema), s.Literal(name.Name))
}

func (p *mysqlPlanner) fence(k catalog.Key) {
	switch {
	case p.fenced(k):
	case k.Mechanism == catalog.SequenceDefault:
		p.note(Fence, "%s takes its numbers from a sequence, which a generated key does not move: it needs no fence.", p.column(k.Column))
	default:
		p.add(Fence, p.fenceTrigger(k))
	}
}

func (p *mysqlPlanner) fenceTrigger(k catalog.Key) Step {
	return p.trigger(k, database.Own(database.FencePrefix, k.Column.Table.Name), "refuse rows of "+p.name(k.Column.Table)+" that come without a key",
		"COALESCE(NEW."+p.Quote(k.Column.Name)+", 0) = 0", "this row came without")
}

func (p *mysqlPlanner) drop(k catalog.Key) {
	table, column := k.Column.Table, p.Quote(k.Column.Name)
	alter := "ALTER TABLE " + p.name(table)
	done := fmt.Sprintf("SELECT COUNT(*) = 1 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND COLUMN_NAME = %s AND ",
		p.Literal(table.Schema), p.Literal(table.Name), p.Literal(k.Column.Name))
	s := Step{Text: "stop numbering " + p.column(k.Column), Locks: "readers and writers for a moment only", Lasting: true}
	if k.Mechanism == catalog.SequenceDefault {
		s.SQL, s.Done = alter+" ALTER COLUMN "+column+" DROP DEFAULT", done+"COLUMN_DEFAULT IS NULL"
		s.Undo = []string{alter + " ALTER COLUMN " + column + " SET DEFAULT (" + k.Default + ")"}
		p.add(Drop, s)
		return
	}
	_, counting := p.modified(k.Column)
	definition, ok := withoutAutoIncrement(counting)
	if !ok {
		p.refuse(k.Column, "report this", "its definition does not say AUTO_INCREMENT: %s", counting)
	}
	p.add(Drop, p.keepCounter(table, table))
	s.SQL, s.Done = alter+" MODIFY "+definition+inPlace, done+"EXTRA NOT LIKE '%auto_increment%'"
	s.Undo = []string{alter + " MODIFY " + counting + ", AUTO_INCREMENT = " + counted + " 1"}
	s.Before, s.After = uncheckedForeignKeys, checkedForeignKeys
	if p.Dialect == catalog.MySQL {
		s.SQL = alter + " MODIFY " + definition + copying
		s.Locks = whileCopied(p.name(table))
		s.Rewrites, s.Copies = "copies the whole table and its indexes: MySQL has no other way", p.name(table)
	}
	p.add(Drop, s)
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

// withoutAutoIncrement removes AUTO_INCREMENT from the definition of a column. It isn't
// fooled by comments and defaults that contain the word.
func withoutAutoIncrement(definition string) (string, bool) {
	for _, t := range ddl.Tokens(definition, true) {
		if t.Is("AUTO_INCREMENT") {
			return strings.TrimSuffix(definition[:t.Start], " ") + definition[t.End:], true
		}
	}
	return definition, false
}

func (p *mysqlPlanner) guard(k catalog.Key) {
	table, column := p.name(k.Column.Table), p.Quote(k.Column.Name)
	if !p.guarded(k, k.Column.Table) {
		p.add(Guard, p.trigger(k, p.guardName(k, k.Column.Table), fmt.Sprintf("refuse new rows of %s with a key below %d, or without one", table, p.options.Floor),
			fmt.Sprintf("COALESCE(NEW.%s, 0) < %d AND NOT EXISTS (SELECT 1 FROM %s WHERE %[1]s = NEW.%[1]s)", column, p.options.Floor, table),
			"this one was not"))
	}
	if k.Mechanism == catalog.SequenceDefault {
		return
	}
	fence := catalog.Name{Schema: k.Column.Table.Schema, Name: database.Own(database.FencePrefix, k.Column.Table.Name)}
	p.add(Guard, Step{
		Text: "take down the fence, which the guard has replaced",
		SQL:  dropTrigger + p.name(fence), Done: p.triggers(fence, 0), Lasting: true,
		Locks: "writers of " + table + " for a moment", Undo: []string{p.fenceTrigger(k).SQL},
	})
}
