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

const (
	mysqlReferences = `SELECT k.CONSTRAINT_SCHEMA, k.CONSTRAINT_NAME, k.TABLE_SCHEMA, k.TABLE_NAME, k.COLUMN_NAME,
	k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE AS k
WHERE k.TABLE_SCHEMA NOT IN ` + database.MySQLSystem + ` AND k.REFERENCED_TABLE_NAME IS NOT NULL
ORDER BY k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION`

	mysqlRules = `SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE
FROM information_schema.REFERENTIAL_CONSTRAINTS`

	mysqlExtras = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_TYPE, EXTRA LIKE '%GENERATED%' AND EXTRA NOT LIKE '%DEFAULT_GENERATED%', EXTRA LIKE '%INVISIBLE%', COALESCE(GENERATION_EXPRESSION, '')
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA NOT IN ` + database.MySQLSystem + ` ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION`

	// A query for the privileges that the user has on a table.
	mysqlPrivileges = `SELECT p.PRIVILEGE_TYPE FROM (
	SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES
	UNION ALL SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES WHERE ? LIKE TABLE_SCHEMA
	UNION ALL SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.TABLE_PRIVILEGES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?) AS p
WHERE p.GRANTEE = CONCAT("'", REPLACE(CURRENT_USER(), "@", "'@'"), "'")`

	mysqlTables = `SELECT TABLE_SCHEMA, TABLE_NAME, COALESCE(ENGINE, ''), TABLE_TYPE FROM information_schema.TABLES
WHERE TABLE_SCHEMA NOT IN ` + database.MySQLSystem + ` AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')`
)

var uncheckedForeignKeys, checkedForeignKeys = []string{"SET SESSION foreign_key_checks = 0"}, []string{"SET SESSION foreign_key_checks = 1"}

// A mysqlColumn is a column, with whether the server computes it (generated) and
// whether SELECT * leaves it out (invisible).
type mysqlColumn struct {
	catalog.Column
	generated, invisible bool
	expression           string // of a column that the server computes
}

// A mysqlPlanner plans for MySQL and MariaDB.
type mysqlPlanner struct {
	*planner
	conn        *sql.Conn
	columns     map[place]mysqlColumn
	computed    []mysqlColumn // the narrow ones
	definitions map[catalog.Name]string
}

func newMySQLPlanner(p *planner, conn *sql.Conn) mysqlPlanner {
	return mysqlPlanner{planner: p, conn: conn, columns: make(map[place]mysqlColumn), definitions: make(map[catalog.Name]string)}
}

func (p *planner) planMySQL(ctx context.Context, conn *sql.Conn) error {
	database, err := database.One(ctx, conn, "SELECT COALESCE(DATABASE(), '')", database.Text)
	if err != nil {
		return err
	}
	p.database = cmp.Or(database, p.keys[0].Column.Table.Schema)
	my := newMySQLPlanner(p, conn)
	if err := my.read(ctx); err != nil {
		return err
	}
	if err := my.refusePrivileges(ctx); err != nil {
		return err
	}
	p.count()
	if err := my.widen(ctx); err != nil {
		return err
	}
	p.note(Readers, "Ship readers that take 64 bits before the next phase: int64 in Go, strings in JSON, BIGINT in stored programs.")
	p.note(Fence, "From here on a writer that sends no key fails. On %s this has to come before the first generated key, which would move the counter beyond it.", p.Dialect)
	p.note(SwitchOn, "The database needs no change. Deploy writers that send generated keys, and apply the next phase when all of them do.")
	p.note(Drop, "The counter goes, behind the fence.")
	p.note(Guard, "A writer that sends a key below %d fails, unless the row is there already: an upsert of an old row goes through.", p.options.Floor)
	for _, k := range p.keys {
		my.fence(k)
	}
	for _, k := range p.keys {
		if err := my.drop(ctx, k); err != nil {
			return err
		}
	}
	for _, k := range p.keys {
		my.guard(k)
	}
	return nil
}

func (p *mysqlPlanner) read(ctx context.Context) error {
	columns, err := database.List(ctx, p.conn, mysqlExtras, func(c *mysqlColumn) []any {
		return append(path(&c.Column), &c.Type, typed(catalog.MySQL, &c.Column), &c.generated, &c.invisible, &c.expression)
	})
	if err != nil {
		return err
	}
	for _, c := range columns {
		p.columns[exactPlace(c.Column)] = c
		if c.generated && narrow(c.Column) {
			p.computed = append(p.computed, c)
		}
	}
	type row struct {
		schema string
		reference
		column, key string
	}
	rows, err := database.List(ctx, p.conn, mysqlReferences, func(r *row) []any {
		return []any{&r.schema, &r.Name, &r.Child.Schema, &r.Child.Name, &r.column, &r.Parent.Schema, &r.Parent.Name, &r.key}
	})
	if err != nil {
		return err
	}
	type rule struct{ schema, table, name, onUpdate, onDelete string }
	rules, err := database.List(ctx, p.conn, mysqlRules, func(r *rule) []any { return []any{&r.schema, &r.table, &r.name, &r.onUpdate, &r.onDelete} })
	if err != nil {
		return err
	}
	by := make(map[[3]string]rule)
	for _, r := range rules {
		by[[3]string{r.schema, r.table, r.name}] = r
	}
	for i, r := range rows {
		if i == 0 || rows[i-1].Name != r.Name || rows[i-1].Child != r.Child {
			rule := by[[3]string{r.schema, r.Child.Name, r.Name}]
			r.OnUpdate, r.OnDelete, r.Valid = rule.onUpdate, rule.onDelete, true
			p.references = append(p.references, r.reference)
		}
		last := &p.references[len(p.references)-1]
		last.Columns, last.Keys = append(last.Columns, r.column), append(last.Keys, r.key)
	}
	type table struct {
		name         catalog.Name
		engine, kind string
	}
	tables, err := database.List(ctx, p.conn, mysqlTables, func(t *table) []any { return []any{&t.name.Schema, &t.name.Name, &t.engine, &t.kind} })
	if err != nil {
		return err
	}
	for _, k := range p.keys {
		if p.columns[exactPlace(k.Column)].invisible {
			p.refuse(k.Column, "leave its table out of the plan (Except, --except), because applications that do not know this key cannot send one, least of all one that the server has made by itself (sql_generate_invisible_primary_key); or make it visible, after every INSERT names its columns",
				"it is invisible, and the server does not let such a column be without a counter or default")
		}
		for _, t := range tables {
			for _, c := range k.Columns() {
				if t.name == c.Table && t.kind == "SYSTEM VERSIONED" {
					p.refuse(c, "leave the table of the key out (Except, --except), or ALTER TABLE … DROP SYSTEM VERSIONING, which deletes the history, and add it again at the end",
						"its table %s is system-versioned, and the server refuses to change its columns (4119)", p.name(c.Table))
				}
			}
			if t.name == k.Column.Table && t.engine != "InnoDB" {
				p.refuse(k.Column, "ALTER TABLE … ENGINE=InnoDB first", "its table is kept by %s, which has no transactions", t.engine)
			}
		}
	}
	return nil
}

// refusePrivileges refuses tables on which the user lacks a privilege that the plan
// needs. We want to know now, because otherwise Apply would stop halfway, with foreign
// keys already dropped.
func (p *mysqlPlanner) refusePrivileges(ctx context.Context) error {
	type facts struct {
		role      string
		log, able bool
	}
	f, err := database.One(ctx, p.conn, "SELECT COALESCE(CURRENT_ROLE(), 'NONE'), @@log_bin, @@log_bin_trust_function_creators",
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
			owned, err := database.List(ctx, p.conn, mysqlPrivileges, database.Text, c.Table.Schema, c.Table.Schema, c.Table.Name)
			if err != nil {
				return err
			}
			needed := []string{"SELECT", "INSERT", "ALTER", "CREATE", "DROP", "INDEX", "REFERENCES", "TRIGGER"}
			for _, r := range p.references { // the triggers that replace a foreign key run as this user
				if r.Child == c.Table && r.OnDelete == "CASCADE" && !slices.Contains(needed, "DELETE") {
					needed = append(needed, "DELETE")
				}
				if r.Child == c.Table && (r.OnDelete == "SET NULL" || r.OnUpdate == "CASCADE" || r.OnUpdate == "SET NULL") && !slices.Contains(needed, "UPDATE") {
					needed = append(needed, "UPDATE")
				}
			}
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

// definition returns the CREATE TABLE statement of a table, as written by the server.
func (p *mysqlPlanner) definition(ctx context.Context, table catalog.Name) (string, error) {
	if known, ok := p.definitions[table]; ok {
		return known, nil
	}
	type row struct{ name, definition string }
	r, err := database.One(ctx, p.conn, "SHOW CREATE TABLE "+p.name(table), func(r *row) []any { return []any{&r.name, &r.definition} })
	p.definitions[table] = r.definition
	return r.definition, err
}

// plainInteger matches the types that can be widened to bigint.
var plainInteger = regexp.MustCompile(`^(tinyint|smallint|mediumint|int|bigint)(\([0-9]+\))?( unsigned)?$`)

// modified returns the current definition of a column, and the same definition with 64
// bits. Both include all other attributes of the column, such as NOT NULL and COMMENT.
func (p *mysqlPlanner) modified(ctx context.Context, c catalog.Column) (was, wide string, err error) {
	create, err := p.definition(ctx, c.Table)
	if err != nil {
		return "", "", err
	}
	start := "  " + p.Quote(c.Name) + " " + c.Type
	for line := range strings.SplitSeq(create, "\n") {
		rest, ok := strings.CutPrefix(line, start)
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
		return p.Quote(c.Name) + " " + c.Type + rest, p.Quote(c.Name) + " " + kind + rest, nil
	}
	p.refuse(c, "report this", "its definition is not found in what SHOW CREATE TABLE says")
	return "", "", nil
}

// connected returns all columns that must have the same type: the given ones, and any
// column that foreign keys connect to them, in either direction.
func (p *mysqlPlanner) connected(columns []catalog.Column) []catalog.Column {
	add := func(table catalog.Name, name string) {
		c := catalog.Column{Table: table, Name: name}
		if known, ok := p.columns[exactPlace(c)]; ok && !slices.ContainsFunc(columns, sameAs(c)) {
			columns = append(columns, known.Column)
		}
	}
	for i := 0; i < len(columns); i++ { // the slice grows as we go
		c := columns[i]
		for _, r := range p.references {
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
	return columns
}

// widen plans each set of columns that are connected by foreign keys. The foreign keys
// have to be dropped before the columns can be widened, and are added again afterwards.
func (p *mysqlPlanner) widen(ctx context.Context) error {
	var seen []catalog.Column
	var groups [][]catalog.Column // no two groups share a table, so that each table is copied only once
	for _, k := range p.keys {
		if slices.ContainsFunc(seen, sameAs(k.Column)) {
			continue
		}
		set := p.connected([]catalog.Column{k.Column})
		var undeclared []catalog.Column // these may differ in sign, because there's no constraint that compares them
		for size := 0; size < len(set); {
			size = len(set)
			for _, other := range p.keys {
				for _, fk := range other.ForeignKeys {
					if fk.Undeclared && slices.ContainsFunc(set, sameAs(other.Column)) && !slices.ContainsFunc(set, sameAs(fk.Child)) {
						undeclared, set = append(undeclared, fk.Child), append(set, fk.Child)
					}
				}
			}
			set = p.connected(set)
		}
		seen = append(seen, set...)
		narrow := slices.DeleteFunc(slices.Clone(set), func(c catalog.Column) bool { return !narrow(c) })
		for _, c := range set {
			if len(narrow) > 0 && c.Unsigned != k.Column.Unsigned && !slices.ContainsFunc(undeclared, sameAs(c)) {
				p.refuse(c, "give both the same sign first", "it is %s and foreign keys tie it to %s, which is %s", c.Type, p.column(k.Column), k.Column.Type)
			}
			const remedy = "drop it and add it again as BIGINT"
			if len(narrow) > 0 && p.columns[exactPlace(c)].generated {
				p.refuse(c, remedy, "it is a generated column")
			}
			for _, g := range p.computed {
				if g.Table == c.Table && g.Name != c.Name && database.Contains(g.expression, c.Name) {
					p.refuse(g.Column, remedy, "it is %s, and the server computes it from %s", g.Type, p.Quote(c.Name))
				}
			}
		}
		if len(narrow) == 0 {
			continue
		}
		apart := groups[:0:0]
		for _, group := range groups {
			if slices.ContainsFunc(group, func(c catalog.Column) bool {
				return slices.ContainsFunc(narrow, func(other catalog.Column) bool { return c.Table == other.Table })
			}) {
				narrow = append(group, narrow...)
			} else {
				apart = append(apart, group)
			}
		}
		groups = append(apart, narrow)
	}
	if len(groups) == 0 {
		p.noteWide()
		return nil
	}
	p.note(Widen, "Foreign keys are dropped before the columns that they tie are widened, and added again afterwards: the server has no other way. Triggers check these references meanwhile, and do what ON DELETE and ON UPDATE say. They differ from foreign keys: they fire the triggers of the rows that a cascade deletes or changes; they refuse to delete a row that others of its own table reference; and a statement that deletes from a table and reads its children fails (1442).")
	p.note(Widen, "There is no transaction around these statements. Once this phase has begun, complete it.")
	if p.options.Online {
		p.note(Widen, "This server has no online way to change a column's type: it copies the table, and writers wait meanwhile (gh-ost and pt-online-schema-change copy otherwise, and have rules of their own for foreign keys). Foreign keys are dropped and added without locking.")
	}
	for _, group := range groups {
		if err := p.widenGroup(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

func (p *mysqlPlanner) widenGroup(ctx context.Context, columns []catalog.Column) error {
	held := p.held(columns)
	if err := p.checkOrphans(ctx, p.conn, held); err != nil {
		return err
	}
	byChild := make(map[catalog.Name][]reference)
	var children []catalog.Name
	for _, r := range held {
		if len(byChild[r.Child]) == 0 {
			children = append(children, r.Child)
		}
		byChild[r.Child] = append(byChild[r.Child], r)
	}
	made, dropped := p.standInSteps(held)
	for _, s := range made {
		p.add(Widen, s)
	}
	for _, child := range children {
		var drops, adds, indexes, orphans []string
		for _, r := range byChild[child] {
			orphans = append(orphans, p.orphans(r))
			drops = append(drops, "DROP FOREIGN KEY "+p.Quote(r.Name))
			adds = append(adds, "ADD "+p.constraint(r))
			index, err := p.ownIndex(ctx, r)
			if err != nil {
				return err
			}
			if index != "" && !slices.Contains(indexes, index) {
				indexes = append(indexes, index)
			}
		}
		drops = append(drops, indexes...)
		p.add(Widen, Step{
			Text: "drop the foreign keys of " + p.name(child) + ", to be added again below",
			SQL:  "ALTER TABLE " + p.name(child) + " " + strings.Join(drops, ", ") + ", ALGORITHM=INPLACE, LOCK=NONE",
			Done: p.counted(child, byChild[child], 0), Locks: "readers and writers for a moment only",
			// Without checks, the server adds foreign keys in place.
			Before: uncheckedForeignKeys, After: checkedForeignKeys,
			Undo:       []string{"ALTER TABLE " + p.name(child) + " " + strings.Join(adds, ", ") + ", ALGORITHM=INPLACE, LOCK=NONE"},
			UndoChecks: orphans,
		})
	}
	byTable := make(map[catalog.Name][]catalog.Column)
	var tables []catalog.Name
	for _, c := range columns {
		if len(byTable[c.Table]) == 0 {
			tables = append(tables, c.Table)
		}
		byTable[c.Table] = append(byTable[c.Table], c)
	}
	for _, table := range tables {
		var actions, back, names, conditions, outside []string
		for _, c := range byTable[table] {
			was, definition, err := p.modified(ctx, c)
			if err != nil {
				return err
			}
			actions, back = append(actions, "MODIFY "+definition), append(back, "MODIFY "+was)
			names, outside = append(names, c.Name), append(outside, p.outside(c))
			conditions = append(conditions, p.Literal(c.Name))
		}
		p.add(Widen, Step{
			Text: "widen " + p.List(names) + " of " + p.name(table),
			SQL:  "ALTER TABLE " + p.name(table) + " " + strings.Join(actions, ", ") + ", ALGORITHM=COPY, LOCK=SHARED",
			Done: fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND COLUMN_NAME IN (%s) AND DATA_TYPE = 'bigint'",
				len(names), p.Literal(table.Schema), p.Literal(table.Name), strings.Join(conditions, ", ")),
			Locks:      "writers of " + p.name(table) + " wait until it is copied; readers go on",
			Rewrites:   "copies the whole table and its indexes",
			Undo:       []string{"ALTER TABLE " + p.name(table) + " " + strings.Join(back, ", ") + ", ALGORITHM=COPY, LOCK=SHARED"},
			UndoChecks: outside, Lasting: true,
		})
	}
	for _, child := range parentsFirst(children, held) {
		var adds, drops []string
		for _, r := range byChild[child] {
			p.add(Widen, Step{
				Text: "check that no row of " + p.name(child) + " references a missing row", Run: Check, SQL: p.orphans(r),
				Locks:  "nothing; it reads the table once",
				Remedy: "delete or mend these rows, which were written while nothing checked, and apply again",
			})
			adds = append(adds, "ADD "+p.constraint(r))
			drops = append(drops, "DROP FOREIGN KEY "+p.Quote(r.Name))
		}
		s := Step{
			Text: "add the foreign keys of " + p.name(child) + " again",
			SQL:  "ALTER TABLE " + p.name(child) + " " + strings.Join(adds, ", ") + ", ALGORITHM=COPY, LOCK=SHARED",
			Done: p.counted(child, byChild[child], len(adds)), Locks: "writers of " + p.name(child) + " wait until it is copied; readers go on",
			Rewrites: "copies the whole table and checks every row",
			Undo:     []string{"ALTER TABLE " + p.name(child) + " " + strings.Join(drops, ", ")},
		}
		if p.options.Online {
			s.SQL = "ALTER TABLE " + p.name(child) + " " + strings.Join(adds, ", ") + ", ALGORITHM=INPLACE, LOCK=NONE"
			s.Before, s.After = uncheckedForeignKeys, checkedForeignKeys
			s.Locks, s.Rewrites = "readers and writers for a moment only; this does not check the rows, a later step does", ""
		}
		p.add(Widen, s)
		if p.options.Online {
			for _, r := range byChild[child] {
				p.add(Widen, Step{
					Text: "check that no row of " + p.name(child) + " that was written meanwhile references a missing row", Run: Check, SQL: p.orphans(r),
					Locks: "nothing; it reads the table once", Remedy: "delete or mend these rows, which were written while nothing checked, and apply again",
				})
			}
		}
	}
	for _, s := range dropped {
		p.add(Widen, s)
	}
	return nil
}

// ownIndex returns SQL that turns the index of a foreign key into an ordinary index,
// without rebuilding it. This matters if the server created the index for the foreign
// key. When the foreign key is added again, the server would replace such an index with
// one of another name.
func (p *mysqlPlanner) ownIndex(ctx context.Context, r reference) (string, error) {
	create, err := p.definition(ctx, r.Child)
	if err != nil {
		return "", err
	}
	var columns []string
	for _, name := range r.Columns {
		columns = append(columns, p.Quote(name))
	}
	for line := range strings.SplitSeq(create, "\n") {
		name, ok := strings.CutPrefix(strings.TrimSuffix(line, ","), "  KEY ")
		name, plain := strings.CutSuffix(name, " ("+strings.Join(columns, ",")+")")
		if ok && plain && name != p.Quote(r.Name) {
			return fmt.Sprintf("DROP INDEX %s, ADD INDEX %[1]s (%s)", name, p.List(r.Columns)), nil
		}
	}
	return "", nil
}

// parentsFirst sorts tables so that parents come before their children, except where
// two tables reference each other. The order matters because MariaDB copies a table to
// add foreign keys to it. While MariaDB swaps in the copy, an existing foreign key of a
// child would reject new rows with error 1452.
func parentsFirst(tables []catalog.Name, references []reference) (ordered []catalog.Name) {
	left := slices.Clone(tables)
	for len(left) > 0 {
		i := max(slices.IndexFunc(left, func(table catalog.Name) bool {
			return !slices.ContainsFunc(references, func(r reference) bool {
				return r.Child == table && r.Parent != table && slices.Contains(left, r.Parent)
			})
		}), 0)
		ordered = append(ordered, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return ordered
}

// constraint returns the definition of a foreign key in SQL.
func (s server) constraint(r reference) string {
	text := fmt.Sprintf("CONSTRAINT %s FOREIGN KEY (%s) REFERENCES %s (%s)", s.Quote(r.Name), s.List(r.Columns), s.name(r.Parent), s.List(r.Keys)) + r.Match
	unsaid := "NO ACTION" // what the server assumes if the definition doesn't say
	if s.Dialect == catalog.MariaDB {
		unsaid = "RESTRICT"
	}
	if r.OnUpdate != unsaid {
		text += " ON UPDATE " + r.OnUpdate
	}
	if r.OnDelete != unsaid {
		text += " ON DELETE " + r.OnDelete
	}
	return text + r.Detail
}

// counted returns a query for whether exactly n of the references exist.
func (s server) counted(child catalog.Name, references []reference, n int) string {
	var names []string
	for _, r := range references {
		names = append(names, s.Literal(r.Name))
	}
	return fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND CONSTRAINT_TYPE = 'FOREIGN KEY' AND CONSTRAINT_NAME IN (%s)",
		n, s.Literal(child.Schema), s.Literal(child.Name), strings.Join(names, ", "))
}

// orphans returns a query for a row whose parent doesn't exist.
func (s server) orphans(r reference) string {
	var columns, ties, set []string
	for i := range r.Columns {
		child, parent := "c."+s.Quote(r.Columns[i]), "p."+s.Quote(r.Keys[i])
		columns = append(columns, child)
		ties = append(ties, parent+" = "+child)
		set = append(set, child+" IS NOT NULL")
	}
	return fmt.Sprintf("SELECT %s FROM %s AS c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s AS p WHERE %s) LIMIT 1",
		strings.Join(columns, ", "), s.name(r.Child), strings.Join(set, " AND "), s.name(r.Parent), strings.Join(ties, " AND "))
}

// message returns the error message of a trigger, which may have at most 128
// characters.
func (p *mysqlPlanner) message(k catalog.Key, what string) string {
	const most = 128
	text := "snowkey: " + k.Column.Table.Name + "." + k.Column.Name + " is to be generated, and " + what
	if utf8.RuneCountInString(text) > most {
		text = "snowkey: the key is to be generated, and " + what
	}
	return p.Literal(text)
}

// trigger returns a step that rejects new rows of a table if they meet a condition.
func (p *mysqlPlanner) trigger(k catalog.Key, prefix, text, condition, what string) Step {
	table := k.Column.Table
	name := catalog.Name{Schema: table.Schema, Name: database.Own(prefix, table.Name)}
	return Step{
		Text: text,
		SQL: fmt.Sprintf("CREATE TRIGGER %s BEFORE INSERT ON %s FOR EACH ROW IF %s THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = %s; END IF",
			p.name(name), p.name(table), condition, p.message(k, what)),
		Done: p.triggers(name, 1), Lasting: true,
		Locks: "writers of " + p.name(table) + " for a moment", Undo: []string{"DROP TRIGGER IF EXISTS " + p.name(name)},
	}
}

// triggers returns a query for whether a trigger exists (n is 1), or doesn't (n is 0).
func (s server) triggers(name catalog.Name, n int) string {
	return fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = %s AND TRIGGER_NAME = %s", n, s.Literal(name.Schema), s.Literal(name.Name))
}

func (p *mysqlPlanner) fence(k catalog.Key) {
	if p.fenced(k) {
		return
	}
	if k.Mechanism == catalog.SequenceDefault {
		p.note(Fence, "%s takes its numbers from a sequence, which a generated key does not move: it needs no fence.", p.column(k.Column))
		return
	}
	p.add(Fence, p.fenceTrigger(k))
}

func (p *mysqlPlanner) fenceTrigger(k catalog.Key) Step {
	return p.trigger(k, database.FencePrefix, "refuse rows of "+p.name(k.Column.Table)+" that come without a key",
		"COALESCE(NEW."+p.Quote(k.Column.Name)+", 0) = 0", "this row came without")
}

func (p *mysqlPlanner) drop(ctx context.Context, k catalog.Key) error {
	table := p.name(k.Column.Table)
	if k.Mechanism == catalog.SequenceDefault {
		p.add(Drop, Step{
			Text: "stop numbering " + p.column(k.Column),
			SQL:  "ALTER TABLE " + table + " ALTER COLUMN " + p.Quote(k.Column.Name) + " DROP DEFAULT",
			Done: fmt.Sprintf("SELECT COUNT(*) = 1 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND COLUMN_NAME = %s AND COLUMN_DEFAULT IS NULL",
				p.Literal(k.Column.Table.Schema), p.Literal(k.Column.Table.Name), p.Literal(k.Column.Name)),
			Locks: "writers for a moment", Lasting: true,
			Undo: []string{"ALTER TABLE " + table + " ALTER COLUMN " + p.Quote(k.Column.Name) + " SET DEFAULT (" + k.Default + ")"},
		})
		return nil
	}
	_, counting, err := p.modified(ctx, k.Column)
	if err != nil {
		return err
	}
	definition, ok := withoutAutoIncrement(counting)
	if !ok {
		p.refuse(k.Column, "report this", "its definition does not say AUTO_INCREMENT: %s", counting)
	}
	count := Step{
		Text: "keep where the counter of " + p.column(k.Column) + " stands, for undo", Run: Count, Locks: "nothing",
		SQL: fmt.Sprintf("SELECT COALESCE(AUTO_INCREMENT, 1) FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s", p.Literal(k.Column.Table.Schema), p.Literal(k.Column.Table.Name)),
	}
	if p.Dialect == catalog.MySQL { // which otherwise shows counters of yesterday
		count.Before, count.After = []string{"SET SESSION information_schema_stats_expiry = 0"}, []string{"SET SESSION information_schema_stats_expiry = DEFAULT"}
	}
	p.add(Drop, count)
	s := Step{
		Text: "stop numbering " + p.column(k.Column),
		SQL:  "ALTER TABLE " + table + " MODIFY " + definition,
		Done: fmt.Sprintf("SELECT COUNT(*) = 1 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND COLUMN_NAME = %s AND EXTRA NOT LIKE '%%auto_increment%%'",
			p.Literal(k.Column.Table.Schema), p.Literal(k.Column.Table.Name), p.Literal(k.Column.Name)),
		Lasting: true,
		Undo:    []string{"ALTER TABLE " + table + " MODIFY " + counting + ", AUTO_INCREMENT = " + counted + " 1"},
		Before:  uncheckedForeignKeys, After: checkedForeignKeys,
	}
	if p.Dialect == catalog.MariaDB {
		s.SQL += ", ALGORITHM=INPLACE, LOCK=NONE"
		s.Locks = "readers and writers for a moment only"
	} else {
		s.SQL += ", ALGORITHM=COPY, LOCK=SHARED"
		s.Locks = "writers of " + table + " wait until it is copied; readers go on"
		s.Rewrites = "copies the whole table and its indexes: MySQL has no other way"
	}
	p.add(Drop, s)
	return nil
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
		p.add(Guard, p.trigger(k, database.GuardPrefix, fmt.Sprintf("refuse new rows of %s with a key below %d, or without one", table, p.options.Floor),
			fmt.Sprintf("COALESCE(NEW.%s, 0) < %d AND NOT EXISTS (SELECT 1 FROM %s WHERE %[1]s = NEW.%[1]s)", column, p.options.Floor, table),
			"this one was not"))
	}
	if k.Mechanism == catalog.SequenceDefault {
		return
	}
	fence := catalog.Name{Schema: k.Column.Table.Schema, Name: database.Own(database.FencePrefix, k.Column.Table.Name)}
	p.add(Guard, Step{
		Text: "take down the fence, which the guard has replaced",
		SQL:  "DROP TRIGGER IF EXISTS " + p.name(fence), Done: p.triggers(fence, 0), Lasting: true,
		Locks: "writers of " + table + " for a moment", Undo: []string{p.fenceTrigger(k).SQL},
	})
}
