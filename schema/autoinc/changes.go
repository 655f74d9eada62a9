package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// The changes of a plan are the keys that stop counting, with all columns that hold them.
// They are the same on every server. A planner turns them into steps.
type changes struct {
	schema
	options  PlanOptions
	compared *Plan                     // a plan that was made before, if it is to be compared with this one
	keys     []catalog.Key             // the keys to migrate
	holders  map[catalog.Column]holder // with RekeyOptions, the columns that get other values
	refusals []refusal
}

// read finds out what a plan changes. It refuses what can't be migrated on any server.
func (c *changes) read(ctx context.Context, conn *sql.Conn, s server) (err error) {
	if c.schema, err = readSchema(ctx, conn, s, c.options.Options); err != nil {
		return err
	}
	if err := c.choose(); err != nil {
		return err
	}
	if c.options.Rekey != nil {
		return c.follow()
	}
	for _, k := range c.keys {
		c.refuseKey(k)
		c.refuseUndecided(k.Findings)
	}
	c.refuseUndecided(c.report.Findings)
	if c.compared == nil {
		c.refuseConditions()
	}
	return nil
}

func (c *changes) refuse(column catalog.Column, remedy, format string, args ...any) {
	reason := fmt.Sprintf(format, args...)
	i := slices.IndexFunc(c.refusals, func(r refusal) bool { return r.reason == reason && r.remedy == remedy })
	if i < 0 {
		i = len(c.refusals)
		c.refusals = append(c.refusals, refusal{reason: reason, remedy: remedy})
	}
	if r := &c.refusals[i]; !has(r.columns, column) {
		r.columns = append(r.columns, column)
	}
}

// named reports whether a table is the named one. A name without a schema may have one in
// front of it.
func named(name, table catalog.Name) bool {
	return name == table || name.Schema == "" && (name.Name == table.Name || name.Name == table.Schema+"."+table.Name)
}

// among reports whether a table is one of the named ones.
func among(names []catalog.Name, table catalog.Name) bool {
	return slices.ContainsFunc(names, func(name catalog.Name) bool { return named(name, table) })
}

// choose selects the keys to migrate: those of the named tables, or of all in the schemas. A key
// that gets other values then must not be a child's, and must be the only column of its primary
// key. With Composite, one that counts may be one column of several.
func (c *changes) choose() error {
	keys, rekey := c.report.Keys, c.options.Rekey != nil
	if rekey {
		keys = slices.DeleteFunc(slices.Clone(keys), func(k catalog.Key) bool {
			return len(k.PrimaryKey) == 1 && k.PrimaryKey[0] != k.Column.Name || len(k.PrimaryKey) != 1 && !c.options.Composite
		})
		keys = slices.CompactFunc(keys, func(a, b catalog.Key) bool { return a.Column.Table == b.Column.Table })
	}
	for _, name := range slices.Concat(c.options.Tables, c.options.Except) {
		var found []catalog.Name
		for _, k := range keys {
			if table := k.Column.Table; named(name, table) && !slices.Contains(found, table) { // a table may have two counters
				found = append(found, table)
			}
		}
		switch shown := strings.TrimPrefix(name.Schema+"."+name.Name, "."); {
		case len(found) == 1:
		case rekey:
			return fail(ErrTable, "%d tables %q have a primary key of one column; name another table, or write schema.table", len(found), shown)
		case len(found) == 0:
			return fail(ErrTable, "no table %q has an auto-increment key; snowkey migrate inspect shows those that have", shown)
		default:
			return fail(ErrTable, "%d tables are called %q; write schema.table, or choose with --schema (Schemas)", len(found), name.Name)
		}
	}
	var left []catalog.ForeignKey
	for _, k := range keys {
		table := k.Column.Table
		child := rekey && slices.ContainsFunc(c.report.References, func(r catalog.Reference) bool { return r.Child == table && slices.Contains(r.Columns, k.Column.Name) })
		if (among(c.options.Tables, table) || len(c.options.Tables) == 0 && !child) && !among(c.options.Except, table) {
			c.keys = append(c.keys, k)
		} else {
			left = append(left, k.ForeignKeys...)
		}
	}
	for _, fk := range left {
		if fk.AnyKey && len(c.keys) > 0 { // it has to be widened with a key that is chosen
			fk.Parent = c.keys[0].Column
			c.keys[0].ForeignKeys = append(c.keys[0].ForeignKeys, fk)
		}
	}
	return nil
}

func (c *changes) refuseKey(k catalog.Key) {
	for _, column := range k.Columns() {
		c.refuseName(column)
	}
	const leave = "leave its table out of the plan (Except, --except)"
	alone := func(columns []string) bool { return slices.Equal(columns, []string{k.Column.Name}) }
	switch part := slices.Contains(k.PrimaryKey, k.Column.Name); {
	case !part && !slices.ContainsFunc(c.unique[k.Column.Table], alone):
		c.refuse(k.Column, leave+", and decide by hand: an order number or a version may be meant to count", "it is not the primary key, which is %q", k.PrimaryKey)
	case !part && !c.options.Composite:
		c.refuse(k.Column, "if it is meant to count, as an order number is, "+leave+"; else plan it too (Composite, --composite)",
			"it is unique, but not the primary key, which is %q", k.PrimaryKey)
	case part && len(k.PrimaryKey) > 1 && !c.options.Composite:
		c.refuse(k.Column, "if it is meant to count within the rest of the key, "+leave+"; else plan it too (Composite, --composite)",
			"it is not the whole primary key, which is %q", k.PrimaryKey)
	}
	if k.Column.Bits == 0 {
		c.refuse(k.Column, "make it a column of whole numbers", "it is %s, which is not a number", k.Column.Type)
	}
	if k.Counter.Step < 0 {
		c.refuse(k.Column, "count upwards, or leave its table out of the plan", "it counts downwards by %d, and generated keys are positive", -k.Counter.Step)
	}
	if next, known := new(big.Int).SetString(k.Counter.Next, 10); known && next.Cmp(big.NewInt(c.options.Floor)) > 0 && !c.fenced(k) {
		c.refuse(k.Column, fmt.Sprintf("find out who wrote that key while the table counted. On MySQL, MariaDB and SQLite the counter stays beyond it until such rows are gone; on Postgres set the sequence back. If rows were counted this far, plan with a larger floor than %d", c.options.Floor),
			"its counter stands at %s, beyond the floor: a generated key is in a table that still counts, or a setval has moved it, so that counted and generated keys cannot be told apart", next)
	}
}

func (c *changes) refuseName(column catalog.Column) {
	if !plain(column.Name) || !plain(column.Table.Name) || !plain(column.Table.Schema) {
		c.refuse(column, "rename it", "its name has a line end or another control character, which no reviewer would see")
	}
}

// plain reports whether a name can be shown on a single line without escapes.
func plain(name string) bool { return utf8.ValidString(name) && database.Printable(name) == name }

// refuseUndecided refuses narrow columns that may hold a key, until the caller has
// decided about them. If such a column does hold keys, the first row with a generated
// key would fail, or on a server that isn't strict, store another number.
func (c *changes) refuseUndecided(findings []catalog.Finding) {
	for _, f := range findings {
		if f.Kind == catalog.LikelyChild && len(c.keys) > 0 { // there are none if the plan was made before
			c.refuse(f.Column, f.Remedy, "%s", f.Text)
		}
	}
}

// narrowLimit matches the ends of the ranges of narrow integers.
var narrowLimit = regexp.MustCompile(`\b(32767|32768|65535|65536|8388607|8388608|16777215|16777216|2147483647|2147483648|4294967295|4294967296)\b`)

// refuseConditions refuses columns with a CHECK that ends where narrow integers do.
func (c *changes) refuseConditions() {
	for _, check := range c.conditions {
		if !narrowLimit.MatchString(check.text) {
			continue
		}
		for _, k := range c.keys {
			for _, column := range k.Columns() {
				if column.Table == check.table && database.Contains(check.text, column.Name) {
					c.refuse(column, "drop it, or raise its limit to 9223372036854775807", "the constraint %s ends where narrower integers do, and would refuse a generated key: %s", c.Quote(check.name), check.text)
				}
			}
		}
	}
}

// fenced reports whether the key's table already has the fence.
func (c *changes) fenced(k catalog.Key) bool {
	return triggered(k, k.Column.Table, database.Own(database.FencePrefix, k.Column.Table.Name))
}

// guarded reports whether a table already has the guard.
func (c *changes) guarded(k catalog.Key, table catalog.Name) bool {
	return triggered(k, table, c.guardName(k, table))
}

func triggered(k catalog.Key, table catalog.Name, name string) bool {
	return slices.ContainsFunc(k.Triggers, func(t catalog.Trigger) bool { return t.Table == table && t.Name == name })
}

// guardName returns the name of the guard of a key. A table may have two keys.
func (c *changes) guardName(k catalog.Key, table catalog.Name) string {
	i := slices.IndexFunc(c.keys, func(other catalog.Key) bool { return other.Column.Table == k.Column.Table })
	if c.keys[i].Column.Name != k.Column.Name {
		return database.Own(database.GuardPrefix, table.Name+"_"+k.Column.Name)
	}
	return database.Own(database.GuardPrefix, table.Name)
}

// held returns the references that involve at least one of the columns.
func (c *changes) held(columns []catalog.Column) (all []catalog.Reference) {
	for _, r := range c.report.References {
		touches := slices.ContainsFunc(columns, func(c catalog.Column) bool {
			return c.Table == r.Child && slices.Contains(r.Columns, c.Name) || c.Table == r.Parent && slices.Contains(r.Keys, c.Name)
		})
		if touches {
			all = append(all, r)
		}
	}
	return all
}

// These are columns, grouped by table.
type byTable struct {
	tables  []catalog.Name // in order
	columns map[catalog.Name][]catalog.Column
}

// group groups columns by table, without duplicates.
func group(columns []catalog.Column) byTable {
	g := byTable{columns: make(map[catalog.Name][]catalog.Column)}
	for _, c := range columns {
		of := g.columns[c.Table]
		if len(of) == 0 {
			g.tables = append(g.tables, c.Table)
		}
		if !has(of, c) {
			g.columns[c.Table] = append(of, c)
		}
	}
	return g
}

func (g byTable) all() (columns []catalog.Column) {
	for _, table := range g.tables {
		columns = append(columns, g.columns[table]...)
	}
	return columns
}

// narrow returns the narrow columns that hold one of the keys. Children come first, since
// their tables are usually larger than the parents' tables, and nothing else can be done
// until they are widened.
func (c *changes) narrow() (columns []catalog.Column) {
	for _, k := range c.keys {
		for _, fk := range k.ForeignKeys {
			columns = append(columns, fk.Child)
		}
	}
	for _, k := range c.keys {
		columns = append(columns, k.Column)
	}
	return slices.DeleteFunc(columns, func(c catalog.Column) bool { return !narrow(c) })
}

// tables returns all tables of the plan, without duplicates.
func (c *changes) tables() (all []catalog.Name) {
	for _, k := range c.keys {
		all = append(all, k.Column.Table)
		for _, fk := range k.ForeignKeys {
			all = append(all, fk.Child.Table)
		}
	}
	slices.SortFunc(all, func(a, b catalog.Name) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(all)
}
