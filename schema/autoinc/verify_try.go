package autoinc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/internal/sqldialect"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A catalog can't show everything that is too narrow for a generated key, such as a
// variable of a trigger. Verify therefore inserts rows as the application would: into each
// table that holds keys of the plan, a row with generated keys and, for the rest, with the
// values of a row that is there already. Parents come first. Each table has a transaction
// of its own, which is rolled back.

// A trial inserts the row of one table, along with the parents that the row needs.
type trial struct {
	*verifier
	keys map[catalog.Column]int64 // the generated keys of the rows, by column
	rows map[catalog.Name]bool    // the tables that have their row; false while it is being inserted
}

// errUntried means that a row could not be tried, so nothing is known about it.
var errUntried = errors.New("not proven")

func untried(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errUntried, fmt.Sprintf(format, args...))
}

// holders returns the columns of a table that hold a key of the plan, the table's own key
// included.
func (v *verifier) holders(table catalog.Name) (columns []column) {
	for _, c := range v.of[table] {
		if slices.ContainsFunc(v.plan.keys, func(k plannedKey) bool { return has(k.columns(), c.Column) }) {
			columns = append(columns, c)
		}
	}
	return columns
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

// inTrial calls do in a transaction, which it rolls back.
func (v *verifier) inTrial(ctx context.Context, do func(*trial) error) (err error) {
	defer func() {
		if _, failed := v.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); failed != nil {
			err = cmp.Or(err, failed)
		}
	}()
	for statement := range strings.Lines(v.query("trial")) {
		if _, err := v.conn.ExecContext(ctx, statement); err != nil {
			return untried("%v", err)
		}
	}
	return do(&trial{v, make(map[catalog.Column]int64), make(map[catalog.Name]bool)})
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
	for _, c := range t.holders(table) {
		if t.isKey(c.Column) {
			values[c.Name] = t.generated(c)
		}
	}
	for _, c := range t.holders(table) {
		if err := t.reference(ctx, c, without, values); err != nil {
			return "", err
		}
	}
	if err := t.avoidDuplicates(table, values); err != nil {
		return "", err
	}
	var names, selected []string
	for _, c := range t.of[table] {
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
	if len(names) == 0 {
		return "INSERT INTO " + t.name(table) + " " + t.query("row without values"), nil
	}
	row := "SELECT " + strings.Join(selected, ", ")
	if like {
		row += " FROM " + t.name(table) + " AS snowkey_like LIMIT 1"
	}
	return fmt.Sprintf("INSERT INTO %s (%s) %s %s", t.name(table), t.List(names), t.query("with keys"), row), nil
}

func (t *trial) isKey(c catalog.Column) bool {
	return slices.ContainsFunc(t.plan.keys, func(k plannedKey) bool { return same(k.Column, c) })
}

// generated returns the generated key of a column. It has 63 bits and is odd, so that a
// column, variable or function that rounds it changes it.
func (t *trial) generated(c column) string {
	at := bare(c.Column)
	if t.keys[at] == 0 {
		t.keys[at] = 1<<62 + rand.Int64N(1<<61)*2 + 1
	}
	return t.literal(c, t.keys[at])
}

func (t *trial) literal(c column, key int64) string {
	if c.Text {
		return fmt.Sprintf("'%d'", key)
	}
	return fmt.Sprint(key)
}

// reference gives a column that references a key the key of its parent's row, and the
// other columns of its foreign key the values of that row.
func (t *trial) reference(ctx context.Context, c column, without string, values map[string]string) error {
	for _, r := range t.report.References {
		i := slices.Index(r.Columns, c.Name)
		if i < 0 || r.Child != c.Table || t.isKey(c.Column) && r.Child == r.Parent {
			continue
		}
		parent, known := t.columns[catalog.Column{Table: r.Parent, Name: r.Keys[i]}]
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
		key := t.keys[bare(parent.Column)]
		if key == 0 {
			return untried("%s references %s, which has no generated key", t.column(c.Column), t.column(parent.Column))
		}
		values[c.Name], t.keys[bare(c.Column)] = t.literal(c, key), key
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

// avoidDuplicates gives other values to columns of unique indexes. A generated key is
// different from all others anyway.
func (t *trial) avoidDuplicates(table catalog.Name, values map[string]string) error {
	for _, index := range t.unique[table] {
		given := func(name string) bool { _, known := values[name]; return known }
		if slices.ContainsFunc(index, given) {
			continue
		}
		for _, c := range t.of[table] {
			if !slices.Contains(index, c.Name) || c.computed {
				continue
			}
			value := t.different(c)
			switch {
			case c.nullable:
				value = "NULL"
			case c.fallback: // numbers of its own, or an expression such as a random value
				value = ""
			case value == "":
				continue
			}
			values[c.Name] = value
			break
		}
		if !slices.ContainsFunc(index, given) {
			return untried("there is no value to try for the unique columns %s of %s", t.List(index), t.name(table))
		}
	}
	return nil
}

// different returns an expression for a value that no row has yet, or "".
func (t *trial) different(c column) string {
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
func (t *trial) madeUp(c column) string {
	for _, r := range t.report.References {
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
	if immediate := t.query("check deferred"); immediate != "" { // so that deferred foreign keys and triggers are checked, too
		if _, err := t.conn.ExecContext(ctx, immediate); err != nil {
			return err
		}
	}
	var conditions []string
	for _, c := range t.holders(table) {
		if key := t.keys[bare(c.Column)]; key != 0 {
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
func (v *verifier) blames(err error, table catalog.Name, holders []column) bool {
	text, state := err.Error(), sqldialect.SQLState(err)
	if errors.Is(err, errChanged) || state == "22003" || state == "42883" || strings.Contains(text, "(22003)") {
		return true
	}
	// A check such as id <> parent_id refuses the row only because it references itself.
	itself := func(condition string) bool {
		in := func(name string) bool { return database.Contains(condition, name) }
		return slices.ContainsFunc(v.report.References, func(r catalog.Reference) bool {
			return r.Child == table && r.Parent == table && slices.ContainsFunc(r.Columns, in) && slices.ContainsFunc(r.Keys, in)
		})
	}
	mentions := func(condition string) bool {
		return !itself(condition) && slices.ContainsFunc(holders, func(c column) bool { return database.Contains(condition, c.Name) })
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
		c, ok := v.columns[bare(k.Column)]
		switch {
		case !ok: // already refuted by verifyWidths
		case c.nullable:
			v.say(subject, Refuted, "a row without a key is taken: the column takes nulls")
		case v.counts(k) != "":
			v.say(subject, Refuted, "a row without a key is taken: the column counts")
		default:
			if err := v.verifyInsert(ctx, k, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *verifier) verifyInsert(ctx context.Context, k plannedKey, c column) error {
	how, loose := "", v.settings("loose")
	if loose != nil {
		how = " in a session whose sql_mode is not strict"
	}
	restore, err := v.Set(ctx, v.conn, loose...)
	if err != nil {
		return err
	}
	counted := false
	refused := v.inTrial(ctx, func(t *trial) (err error) {
		counted, err = t.withoutKey(ctx, k)
		return err
	})
	if err := cmp.Or(ctx.Err(), restore()); err != nil {
		return fmt.Errorf("autoinc: %w", err)
	}
	const sealed = "the column has no default and takes no null"
	say := func(verdict, format string, args ...any) { v.say(v.column(k.Column), verdict, format, args...) }
	switch unclear := refused != nil && !missesKey(refused, k.Column); {
	case refused == nil && !counted:
		say(Proven, "a row without a key was tried, and got a generated one")
	case refused == nil && c.fallback:
		say(Refuted, "a row without a key was taken%s, and rolled back: the column has a default", how)
	case refused == nil:
		say(Refuted, "a row without a key was taken%s, and rolled back; apply the phase %s", how, Guard)
	case c.fallback && unclear:
		say(Open, "not proven: the column has a default, and a row without a key was refused for another reason: %v", refused)
	case c.fallback:
		say(Refuted, "the column has a default, but a row without a key was refused")
	case unclear && (loose != nil || v.triggered(k.Column.Table)):
		say(Open, "not proven: %s, but a row without a key was refused for another reason: %v; apply the phase %s", sealed, refused, Guard)
	case unclear:
		say(Proven, sealed)
	default:
		say(Proven, "%s; a row without a key was tried, and refused", sealed)
	}
	return nil
}

// withoutKey inserts a row without a key, and reports whether it got a counted one. That is 0, or
// above the last one below the floor. We look for it because MySQL has no RETURNING.
func (t *trial) withoutKey(ctx context.Context, k plannedKey) (counted bool, err error) {
	last := fmt.Sprintf("SELECT COALESCE(MAX(%s), 0) + (SELECT count(*) FROM %s WHERE %[1]s = 0) FROM %[2]s WHERE %[1]s < %[3]d", t.Quote(k.Column.Name), t.name(k.Column.Table), t.plan.Floor)
	before, err := database.One(ctx, t.conn, last, database.Number)
	if err != nil {
		return false, err
	}
	if err := t.insert(ctx, k.Column.Table, k.Column.Name); err != nil {
		return false, err
	}
	after, err := database.One(ctx, t.conn, last, database.Number)
	return after != before, err
}

var missing = regexp.MustCompile("null value in column |NOT NULL constraint failed: |doesn't have a default value|cannot be null")

// missesKey reports whether a row was rejected because it has no key, whether by the
// fence, by the guard, or because the column is NOT NULL and has no default.
func missesKey(err error, key catalog.Column) bool {
	named := regexp.MustCompile(fmt.Sprintf(`"%[1]s"|'%[1]s'|\.%[1]s( \(|$)`, regexp.QuoteMeta(key.Name)))
	return strings.Contains(err.Error(), "snowkey: ") || missing.MatchString(err.Error()) && named.MatchString(err.Error())
}
