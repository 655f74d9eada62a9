package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A catalog can't show everything that is too narrow for a generated key, such as a
// variable of a trigger. Verify therefore inserts rows as the application would: into each
// table that holds keys of the plan, a row with generated keys and, for the rest, with the
// values of a row that is there already. Parents come first. Each table has a transaction
// of its own, which is rolled back.

// What we need to know about tables before we can insert rows.
const (
	// An index with expressions or with a condition has another column without a name.
	postgresUniques = `SELECT n.nspname, c.relname, x.indexrelid::text, k.name
FROM pg_index x
JOIN pg_class c ON c.oid = x.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_'
CROSS JOIN LATERAL (
	SELECT a.attname::text, a.attnum FROM pg_attribute a
	WHERE a.attrelid = x.indrelid AND a.attnum > 0 AND (a.attnum = ANY ((x.indkey::int2[])[0:x.indnkeyatts - 1]) OR x.indexprs IS NOT NULL AND EXISTS (
		SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = x.indexrelid AND d.refobjid = x.indrelid AND d.refobjsubid = a.attnum))
	UNION ALL SELECT '', 0 WHERE x.indexprs IS NOT NULL OR x.indpred IS NOT NULL) AS k (name, number)
WHERE x.indisunique ORDER BY 1, 2, 3, k.number`

	mysqlUniques = `SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COALESCE(COLUMN_NAME, '') FROM information_schema.STATISTICS
WHERE NON_UNIQUE = 0 AND TABLE_SCHEMA NOT IN ` + database.MySQLSystem + ` ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX`

	sqliteUniques = `SELECT 'main', t.name, i.name, COALESCE(c.name, '')
FROM pragma_table_list AS t JOIN pragma_index_list(t.name, 'main') AS i JOIN pragma_index_info(i.name, 'main') AS c
WHERE t.schema = 'main' AND t.type = 'table' AND i."unique" ORDER BY t.name, i.name, c.seqno`

	postgresConditions = `SELECT COALESCE(n.nspname, ''), COALESCE(c.relname, ''), k.conname, pg_get_constraintdef(k.oid)
FROM pg_constraint k LEFT JOIN pg_class c ON c.oid = k.conrelid LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'c' ORDER BY 1, 2, 3`

	// The servers have different columns in common here: MariaDB also the name of the table.
	mysqlConditions = `SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, CHECK_CLAUSE
FROM information_schema.CHECK_CONSTRAINTS NATURAL JOIN information_schema.TABLE_CONSTRAINTS
WHERE TABLE_SCHEMA NOT IN ` + database.MySQLSystem + ` ORDER BY 1, 2, 3`

	mysqlOtherEngines = `SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES
WHERE TABLE_TYPE = 'BASE TABLE' AND COALESCE(ENGINE, '') <> 'InnoDB' AND TABLE_SCHEMA NOT IN ` + database.MySQLSystem
)

// A condition is a CHECK constraint.
type condition struct {
	table      catalog.Name
	name, text string
}

func (c *condition) dest() []any { return []any{&c.table.Schema, &c.table.Name, &c.name, &c.text} }

// A trial inserts the row of one table, along with the parents that the row needs.
type trial struct {
	*verifier
	keys map[place]int64       // the generated keys of the rows, by column
	rows map[catalog.Name]bool // the tables that have their row; false while it is being inserted
}

// errUntried means that a row could not be tried, so nothing is known about it.
var errUntried = errors.New("not proven")

func untried(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errUntried, fmt.Sprintf(format, args...))
}

// uniques returns the columns of each unique index, by table. An expression has no name.
func (s server) uniques(ctx context.Context, conn *sql.Conn) (map[catalog.Name][][]string, error) {
	type row struct {
		table         catalog.Name
		index, column string
	}
	rows, err := database.List(ctx, conn, s.syntax().uniques, func(r *row) []any { return []any{&r.table.Schema, &r.table.Name, &r.index, &r.column} })
	all := make(map[catalog.Name][][]string)
	for i, r := range rows {
		of := all[r.table]
		if i == 0 || rows[i-1].table != r.table || rows[i-1].index != r.index {
			of = append(of, nil)
		}
		of[len(of)-1] = append(of[len(of)-1], r.column)
		all[r.table] = of
	}
	return all, err
}

// readTables reads what a trial needs to know.
func (v *verifier) readTables(ctx context.Context) (err error) {
	if v.unique, err = v.uniques(ctx, v.conn); err != nil {
		return err
	}
	if v.syntax().conditions != "" {
		if v.conditions, err = database.List(ctx, v.conn, v.syntax().conditions, (*condition).dest); err != nil {
			return err
		}
	}
	if v.IsMySQL() {
		v.unsafe, err = database.List(ctx, v.conn, mysqlOtherEngines, func(n *catalog.Name) []any { return []any{&n.Schema, &n.Name} })
	}
	return err
}

// holders returns the columns of a table that hold a key of the plan, the table's own key
// included.
func (v *verifier) holders(table catalog.Name) (columns []verifiedColumn) {
	for _, c := range v.tables[table] {
		holds := func(other catalog.Column) bool { return v.fold(other) == v.fold(c.Column) }
		if slices.ContainsFunc(v.plan.keys, func(k plannedKey) bool { return holds(k.Column) || slices.ContainsFunc(k.Holders, holds) }) {
			columns = append(columns, c)
		}
	}
	return columns
}

// fold returns the place of a column. SQLite keeps the names in a foreign key as they were
// written.
func (v *verifier) fold(c catalog.Column) place {
	if v.syntax().fold {
		return place{c.Table.Schema, ddl.Lower(c.Table.Name), ddl.Lower(c.Name)}
	}
	return exactPlace(c)
}

// verifyTrials tries each table of the plan.
func (v *verifier) verifyTrials(ctx context.Context) error {
	for _, table := range v.plan.tables() {
		holders := v.holders(table)
		if len(holders) == 0 {
			continue // already refuted by verifyWidths
		}
		tried := v.inTrial(ctx, func(t *trial) error {
			if err := t.insert(ctx, table, ""); err != nil {
				return err
			}
			return t.readBack(ctx, table)
		})
		if ctx.Err() != nil {
			return fmt.Errorf("autoinc: %w", ctx.Err())
		}
		for _, c := range holders {
			switch {
			case tried == nil:
				v.say(v.column(c.Column), Proven, "a row with a generated key was inserted, read, and rolled back")
			case errors.Is(tried, errUntried):
				v.say(v.column(c.Column), Open, "%v", tried)
			case v.blames(tried, table, holders):
				v.say(v.column(c.Column), Refuted, "a row with a generated key was refused: %v", tried)
			default:
				v.say(v.column(c.Column), Open, "not proven: a row with a generated key was refused for another reason: %v", tried)
			}
		}
	}
	return nil
}

// impatiently makes statements wait for locks for at most a second.
func (s server) impatiently(ctx context.Context, conn *sql.Conn) (restore func(), err error) {
	set := func(ctx context.Context, timeout string) error {
		_, err := conn.ExecContext(ctx, fmt.Sprintf(s.syntax().setWait, timeout))
		return err
	}
	was, err := database.One(ctx, conn, s.syntax().wait, database.Text)
	if err == nil {
		err = set(ctx, s.syntax().second)
	}
	return func() { _ = set(context.WithoutCancel(ctx), was) }, err // if this fails, the connection is unusable anyway
}

// inTrial calls do in a transaction, which it rolls back.
func (v *verifier) inTrial(ctx context.Context, do func(*trial) error) (err error) {
	if _, err := v.conn.ExecContext(ctx, v.syntax().begin); err != nil {
		return untried("%v", err)
	}
	defer func() {
		if _, failed := v.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); failed != nil {
			err = cmp.Or(err, failed)
		}
	}()
	return do(&trial{v, make(map[place]int64), make(map[catalog.Name]bool)})
}

// insert inserts the row of a table, without one of its columns if that isn't empty.
func (t *trial) insert(ctx context.Context, table catalog.Name, without string) error {
	switch {
	case t.rows[table]:
		return nil
	case t.Dialect != catalog.Postgres && slices.ContainsFunc(t.report.Keys, func(k catalog.Key) bool { return k.Column.Table == table && t.isKey(k.Column) }):
		return untried("%s still counts, and a generated key would move its counter, even if it is rolled back", t.name(table))
	case slices.Contains(t.unsafe, table):
		return untried("%s has no transactions", t.name(table))
	case len(t.unsafe) > 0 && t.triggered(table):
		return untried("%s has triggers, which may write to a table without transactions, such as %s", t.name(table), t.name(t.unsafe[0]))
	}
	t.rows[table] = false
	insert, err := t.statement(ctx, table, without)
	if err != nil {
		return err
	}
	if _, err := t.conn.ExecContext(ctx, insert); err != nil {
		return err
	}
	t.rows[table] = true
	return nil
}

// triggered reports whether a table has triggers other than the plan's.
func (v *verifier) triggered(table catalog.Name) bool {
	return slices.ContainsFunc(v.report.Triggers, func(t catalog.Trigger) bool {
		return t.Table == table && !strings.HasPrefix(t.Name, database.FencePrefix) && !strings.HasPrefix(t.Name, database.GuardPrefix)
	})
}

// statement returns the INSERT for the row of a table. It inserts the parents first.
func (t *trial) statement(ctx context.Context, table catalog.Name, without string) (string, error) {
	like, err := anyRow(ctx, t.conn, "SELECT 1 AS found FROM "+t.name(table)+" LIMIT 1")
	if err != nil {
		return "", err
	}
	values := make(map[string]string) // SQL expressions, by column
	var own []string                  // the columns of the table's own keys
	for _, c := range t.holders(table) {
		if t.isKey(c.Column) {
			own = append(own, c.Name)
			values[c.Name] = t.generated(c)
		}
	}
	for _, c := range t.holders(table) {
		if err := t.reference(ctx, c, own, without, values); err != nil {
			return "", err
		}
	}
	if err := t.avoidDuplicates(table, values); err != nil {
		return "", err
	}
	var names, selected []string
	for _, c := range t.tables[table] {
		value, given := values[c.Name]
		switch {
		case c.computed || c.Name == without:
			continue
		case given && value == "": // left to its default
			continue
		case given:
		case like:
			value = "snowkey_like." + t.Quote(c.Name)
		case c.nullable || c.fallback:
			continue
		default:
			if value = t.madeUp(c); value == "" {
				return "", untried("%s has no row to copy, and %s is %s without a default", t.name(table), t.Quote(c.Name), c.Type)
			}
		}
		names, selected = append(names, c.Name), append(selected, value)
	}
	switch {
	case len(names) == 0:
		return "INSERT INTO " + t.name(table) + t.syntax().empty, nil
	case like:
		return fmt.Sprintf("INSERT INTO %s (%s)%s SELECT %s FROM %s AS snowkey_like LIMIT 1", t.name(table), t.List(names), t.syntax().overriding, strings.Join(selected, ", "), t.name(table)), nil
	}
	return fmt.Sprintf("INSERT INTO %s (%s)%s VALUES (%s)", t.name(table), t.List(names), t.syntax().overriding, strings.Join(selected, ", ")), nil
}

func (t *trial) isKey(c catalog.Column) bool {
	return slices.ContainsFunc(t.plan.keys, func(k plannedKey) bool { return t.fold(k.Column) == t.fold(c) })
}

// generated returns the generated key of a column. It has 63 bits and is odd, so that a
// column, variable or function that rounds it changes it.
func (t *trial) generated(c verifiedColumn) string {
	at := t.fold(c.Column)
	if t.keys[at] == 0 {
		t.keys[at] = 1<<62 + rand.Int64N(1<<61)*2 + 1
	}
	return t.literal(c, t.keys[at])
}

func (t *trial) literal(c verifiedColumn, key int64) string {
	if c.Text {
		return fmt.Sprintf("'%d'", key)
	}
	return fmt.Sprint(key)
}

// reference gives a column that references a key the key of its parent's row, and the
// other columns of its foreign key the values of that row.
func (t *trial) reference(ctx context.Context, c verifiedColumn, own []string, without string, values map[string]string) error {
	for _, r := range t.references {
		i := slices.IndexFunc(r.Columns, func(name string) bool { return t.fold(catalog.Column{Table: r.Child, Name: name}) == t.fold(c.Column) })
		if i < 0 || slices.Contains(own, c.Name) && r.Child == r.Parent {
			continue
		}
		parent, known := t.columnOf(r.Parent, r.Keys[i])
		if !known {
			continue
		}
		inserted, begun := t.rows[parent.Table]
		switch {
		case parent.Table == c.Table && parent.Name == without:
			return nil // a row without a key can't reference itself
		case parent.Table == c.Table:
		case begun && !inserted && c.nullable:
			values[c.Name] = "NULL"
			return nil
		case begun && !inserted:
			return untried("the tables reference each other in a ring, through %s", t.column(c.Column))
		default:
			if err := t.insert(ctx, parent.Table, ""); err != nil {
				return untried("the row of %s that it needs was not inserted: %s", t.name(parent.Table), strings.TrimPrefix(err.Error(), errUntried.Error()+": "))
			}
		}
		key := t.keys[t.fold(parent.Column)]
		if key == 0 {
			return untried("%s references %s, which has no generated key", t.column(c.Column), t.column(parent.Column))
		}
		values[c.Name], t.keys[t.fold(c.Column)] = t.literal(c, key), key
		for j, other := range r.Columns {
			if _, given := values[other]; !given && r.Parent != r.Child {
				values[other] = fmt.Sprintf("(SELECT %s FROM %s WHERE %s = %s)", t.Quote(r.Keys[j]), t.name(parent.Table), t.Quote(parent.Name), t.literal(parent, key))
			}
		}
		return nil
	}
	if _, given := values[c.Name]; !given { // a column without a foreign key
		values[c.Name] = t.generated(c)
	}
	return nil
}

func (v *verifier) columnOf(table catalog.Name, name string) (verifiedColumn, bool) {
	for _, columns := range v.tables {
		for _, c := range columns {
			if v.fold(c.Column) == v.fold(catalog.Column{Table: table, Name: name}) {
				return c, true
			}
		}
	}
	return verifiedColumn{}, false
}

// avoidDuplicates gives other values to columns of unique indexes. A generated key is
// different from all others anyway.
func (t *trial) avoidDuplicates(table catalog.Name, values map[string]string) error {
	for _, index := range t.unique[table] {
		if slices.ContainsFunc(index, func(name string) bool { _, given := values[name]; return given }) {
			continue
		}
		var chosen string
		for _, c := range t.tables[table] {
			if !slices.Contains(index, c.Name) || c.computed {
				continue
			}
			switch {
			case c.nullable:
				values[c.Name], chosen = "NULL", c.Name
			case c.fallback: // numbers of its own, or an expression such as a random value
				values[c.Name], chosen = "", c.Name
			default:
				if value := t.different(c); value != "" && chosen == "" {
					values[c.Name], chosen = value, c.Name
				}
			}
			if chosen != "" {
				break
			}
		}
		if chosen == "" {
			return untried("there is no value to try for the unique columns %s of %s", t.List(index), t.name(table))
		}
	}
	return nil
}

// different returns an expression for a value that no row has yet, or "".
func (t *trial) different(c verifiedColumn) string {
	random := fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
	switch kind := ddl.ParseType(c.Type); {
	case kind.Name == "uuid":
		return "'" + random + "'"
	case c.Text:
		size, limited := kind.Digits()
		if limited && size < len(random) {
			random = random[:max(size, 0)]
		}
		return "'" + random + "'"
	case c.Bits > 0:
		return fmt.Sprintf("(SELECT COALESCE(MAX(%s), 0) + 1 FROM %s)", t.Quote(c.Name), t.name(c.Table))
	}
	return ""
}

// madeUp returns a value for a column of a table without rows, or "".
func (t *trial) madeUp(c verifiedColumn) string {
	for _, r := range t.references {
		if i := slices.Index(r.Columns, c.Name); i >= 0 && r.Child == c.Table {
			return fmt.Sprintf("(SELECT %s FROM %s LIMIT 1)", t.Quote(r.Keys[i]), t.name(r.Parent))
		}
	}
	switch name := strings.ToLower(c.Type); {
	case c.Text || c.Bits > 0 || name == "uuid":
		return t.different(c)
	case strings.HasPrefix(name, "bool"):
		return "false"
	case strings.HasPrefix(name, "json"):
		return "'{}'"
	case strings.HasPrefix(name, "date") || strings.HasPrefix(name, "timestamp"):
		return "CURRENT_TIMESTAMP"
	}
	return ""
}

// readBack checks that the row of a table was stored with the keys that were inserted.
func (t *trial) readBack(ctx context.Context, table catalog.Name) error {
	if immediate := t.syntax().immediate; immediate != "" { // so that deferred foreign keys and triggers are checked, too
		if _, err := t.conn.ExecContext(ctx, immediate); err != nil {
			return err
		}
	}
	var conditions []string
	for _, c := range t.holders(table) {
		if key := t.keys[t.fold(c.Column)]; key != 0 {
			conditions = append(conditions, t.Quote(c.Name)+" = "+t.literal(c, key))
		}
	}
	if len(conditions) == 0 {
		return untried("nothing references the tables of the plan from %s", t.name(table))
	}
	found, err := anyRow(ctx, t.conn, fmt.Sprintf("SELECT 1 AS found FROM %s WHERE %s LIMIT 1", t.name(table), strings.Join(conditions, " AND ")))
	if err == nil && !found {
		err = errChanged
	}
	return err
}

var errChanged = errors.New("it was stored with another key, for instance by a trigger or a rule")

// blames reports whether a row was refused because of its generated keys.
func (v *verifier) blames(err error, table catalog.Name, holders []verifiedColumn) bool {
	text := ""
	if err != nil {
		text = err.Error()
	}
	state := sqlState(err)
	if errors.Is(err, errChanged) || state == "22003" || state == "42883" || strings.Contains(text, "(22003)") {
		return true
	}
	mentions := func(condition string) bool {
		return slices.ContainsFunc(holders, func(c verifiedColumn) bool { return database.Contains(condition, c.Name) })
	}
	if _, failed, ok := strings.Cut(text, "CHECK constraint failed: "); ok && v.Dialect == catalog.SQLite {
		return mentions(failed)
	}
	return slices.ContainsFunc(v.conditions, func(c condition) bool {
		domain := c.table == catalog.Name{} && state == "23514"
		return (c.table == table || domain) && (state == "23514" || strings.Contains(text, "Error 3819 ") || strings.Contains(text, "Error 4025 ")) &&
			database.Contains(text, c.name) && (domain || mentions(c.text))
	})
}

// verifyInserts checks that a row without a key is refused, or that the database gives it
// a generated one.
func (v *verifier) verifyInserts(ctx context.Context) error {
	for _, k := range v.plan.keys {
		subject := v.column(k.Column)
		c, ok := v.columns[exactPlace(k.Column)]
		if !ok {
			continue // already refuted by verifyWidths
		}
		if c.nullable {
			v.say(subject, Refuted, "a row without a key is taken: the column takes nulls")
			continue
		}
		if v.counts(k) != "" {
			v.say(subject, Refuted, "a row without a key is taken: the column counts")
			continue
		}
		how, modes := "", v.syntax().modes
		if len(modes) > 0 {
			how = ", with a strict sql_mode and without"
		} else {
			modes = []string{""}
		}
		var taken, small bool
		var unclear error
		for _, mode := range modes {
			if len(modes) > 1 {
				if _, err := v.conn.ExecContext(ctx, "SET SESSION sql_mode = "+v.Literal(mode)); err != nil {
					return fmt.Errorf("autoinc: %w", err)
				}
			}
			counted := int64(0)
			refused := v.inTrial(ctx, func(t *trial) (err error) {
				counted, err = t.withoutKey(ctx, k)
				return err
			})
			switch {
			case ctx.Err() != nil:
				return fmt.Errorf("autoinc: %w", ctx.Err())
			case refused == nil:
				taken, small = true, small || counted > 0
				if len(modes) > 1 && mode == "" {
					how = " in a session whose sql_mode is not strict"
				}
			case mode == "" && !missesKey(refused, k.Column): // a strict mode always rejects the row
				unclear = refused
			}
		}
		const sealed = "the column has no default and takes no null"
		switch {
		case taken && !small:
			v.say(subject, Proven, "a row without a key was tried, and got a generated one")
		case taken && c.fallback:
			v.say(subject, Refuted, "a row without a key was taken%s, and rolled back: the column has a default", how)
		case taken:
			v.say(subject, Refuted, "a row without a key was taken%s, and rolled back; apply the phase %s", how, Guard)
		case c.fallback && unclear != nil:
			v.say(subject, Open, "not proven: the column has a default, and a row without a key was refused for another reason: %v", unclear)
		case c.fallback:
			v.say(subject, Refuted, "the column has a default, but a row without a key was refused")
		case unclear != nil && (v.syntax().modes != nil || v.triggered(k.Column.Table)): // without a strict mode, a missing key becomes 0
			v.say(subject, Open, "not proven: %s, but a row without a key was refused for another reason: %v; apply the phase %s", sealed, unclear, Guard)
		case unclear != nil:
			v.say(subject, Proven, sealed)
		default:
			v.say(subject, Proven, "%s; a row without a key was tried%s, and refused", sealed, how)
		}
	}
	return nil
}

// withoutKey inserts a row without a key, and returns how many rows with a counted key the
// table has got.
func (t *trial) withoutKey(ctx context.Context, k plannedKey) (int64, error) {
	// The rows above the last counted key are counted because MySQL has no RETURNING.
	table, key := t.name(k.Column.Table), t.Quote(k.Column.Name)
	last, err := database.One(ctx, t.conn, fmt.Sprintf("SELECT COALESCE(MAX(%s), 0) FROM %s WHERE %[1]s < %[3]d", key, table, t.plan.Floor), database.Number)
	if err != nil {
		return 0, err
	}
	count := fmt.Sprintf("SELECT count(*) FROM %s WHERE %s > %d AND %[2]s < %[4]d OR %[2]s = 0", table, key, last, t.plan.Floor)
	before, err := database.One(ctx, t.conn, count, database.Number)
	if err != nil {
		return 0, err
	}
	if err := t.insert(ctx, k.Column.Table, k.Column.Name); err != nil {
		return 0, err
	}
	after, err := database.One(ctx, t.conn, count, database.Number)
	return after - before, err
}

// missesKey reports whether a row was rejected because it has no key, whether by the
// fence, by the guard, or because the column is NOT NULL and has no default.
func missesKey(err error, key catalog.Column) bool {
	text := err.Error()
	if strings.Contains(text, "snowkey: ") {
		return true
	}
	for _, refusal := range []string{"null value in column ", "NOT NULL constraint failed: ", "doesn't have a default value", "cannot be null"} {
		if strings.Contains(text, refusal) {
			return strings.Contains(text, `"`+key.Name+`"`) || strings.Contains(text, "'"+key.Name+"'") || strings.HasSuffix(text, "."+key.Name) || strings.Contains(text, "."+key.Name+" (")
		}
	}
	return false
}
