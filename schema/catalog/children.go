package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// Many schemas have columns that hold a key without a foreign key to say so. Such a
// column has to be widened together with the key, otherwise the first generated key
// won't fit. Nothing in a catalog proves that a column holds keys, and nothing in the
// rows proves that it doesn't, so Inspect reports every narrow column whose name
// resembles a key, together with what its rows look like. It's up to the caller to
// decide, with [Options.Children] and [Options.NotChildren].

// byHand reports whether a column has a type that is too short for generated keys, and that
// isn't a number: an array, or text of fewer than 19 characters.
func (c Column) byHand() bool {
	size := textSize(c)
	return c.Type == "integer[]" || c.Type == "smallint[]" || size > 0 && size < 19
}

// declareAll adds the columns that, according to the caller, hold a key.
func (c *catalog) declareAll(options Options) error {
	for _, fk := range options.Children {
		child, err := c.number(fk.Child)
		var parent Column
		if err == nil && fk.Parent.Name != "" {
			parent, err = c.number(fk.Parent)
		}
		switch {
		case err != nil:
			return err
		case child.byHand():
			return fmt.Errorf("catalog: %w: %s is %s; alter it yourself", ErrColumn, c.column(child), child.Type)
		}
		c.declare(child, parent)
	}
	return nil
}

// declare adds a foreign key that doesn't exist. Without a parent, it references the
// first key of the schema.
func (c *catalog) declare(child, parent Column) {
	unknown := parent.Name == ""
	if unknown {
		i := slices.IndexFunc(c.keys, func(k Key) bool { return k.Column.Table.Schema == child.Table.Schema })
		if i < 0 {
			return
		}
		parent = c.keys[i].Column
	}
	c.links = append(c.links, link{
		constraint: "without " + path(child),
		ForeignKey: ForeignKey{Child: child, Parent: parent, Undeclared: true, AnyKey: unknown},
	})
}

// number returns the integer column that the caller named, with or without its schema.
func (c *catalog) number(named Column) (Column, error) {
	at := c.fold(named)
	var found []Column
	for _, column := range c.columns {
		folded := c.fold(column)
		if named.Table.Schema == "" {
			folded.Table.Schema = ""
		}
		if folded == at && (column.Bits > 0 || column.byHand()) {
			found = append(found, column)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return Column{}, fmt.Errorf("catalog: %w: %d columns of integers are named %s", ErrColumn, len(found), c.column(named))
}

// A candidate is a column that may hold a key.
type candidate struct {
	column Column
	key    *Key   // the key whose name fits best, or nil
	fit    int    // how well the name fits, see resembles
	rows   string // what the newest rows say
	known  int    // how many of them have a value that is a key
}

// sample is how many of the newest rows of a column we compare with the keys.
const sample = 10_000

// findChildren returns the columns that may hold a key without a foreign key. If the caller
// has decided that they do, it declares those that needn't be altered by hand instead.
func (c *catalog) findChildren(ctx context.Context, keys []Key, options Options) (likely []candidate, err error) {
	if len(keys) == 0 || options.OnlyDeclared {
		return nil, nil
	}
	decided := make(map[Column]bool)
	for _, l := range c.links {
		decided[l.Child.bare()] = true
	}
	for _, k := range c.keys {
		decided[k.Column.bare()] = true
	}
	for _, named := range options.NotChildren {
		column, err := c.number(named)
		if err != nil {
			return nil, err
		}
		decided[column.bare()] = true
	}
	first := firstWords(c.columns)
	for _, column := range c.columns {
		if !column.narrow() && !column.byHand() || decided[column.bare()] || !slices.Contains(c.inspected, column.Table.Schema) {
			continue
		}
		best := candidate{column: column}
		for i := range keys {
			found := candidate{column: column, key: &keys[i], fit: resembles(column, keys[i], first)}
			if found.fit == 0 || found.fit < best.fit {
				continue
			}
			c.compareValues(ctx, &found)
			if found.fit > best.fit || found.known > best.known || found.known == best.known && len(found.key.Column.Table.Name) < len(best.key.Column.Table.Name) {
				best = found
			}
		}
		if best.key == nil && (column.Text || !database.NamedLikeKey(column.Name)) {
			continue // text may well identify something else
		}
		if best.key == nil {
			best.rows = c.describe(ctx, column)
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("catalog: %w", ctx.Err())
		}
		switch {
		case !options.LikelyChildren || column.byHand():
			likely = append(likely, best)
		case best.key == nil:
			c.declare(column, Column{})
		default:
			c.declare(column, best.key.Column)
		}
	}
	return likely, nil
}

// firstWords counts the tables of each schema by the first word of their names, because
// applications begin their tables with a prefix, such as wp_.
func firstWords(columns []Column) map[Name]int {
	count := make(map[Name]int)
	for table := range grouped(columns, func(c Column) Name { return c.Table }) {
		if w := database.Words(table.Name); len(w) > 1 {
			count[Name{table.Schema, w[0]}]++
		}
	}
	return count
}

// resembles rates how well the name of a column fits a key, where 0 means not at all. It
// is the length of what they have in common, and more if that is the end of the column's
// name: comment_post_ID references posts, not comments. Where the table has a prefix, a name
// without id, such as old_node, only fits if the column's own table has the same prefix:
// view_count doesn't reference filter_counts. first is the result of firstWords.
func resembles(column Column, key Key, first map[Name]int) (fit int) {
	table, id := database.Words(key.Column.Table.Name), database.Words(key.Column.Name)
	if column.Table.Schema != key.Column.Table.Schema || len(table) == 0 || len(id) == 0 {
		return 0
	}
	const atEnd = 1000
	own, text := strings.Join(id, ""), plain(column.Name)
	if text == "lockversion" { // Rails counts a row's updates there, whether or not a table is called versions
		return 0
	}
	general := slices.Contains([]string{"id", "uid", "pk", "key", "no", "rowid"}, own)
	if !general && slices.Contains(key.PrimaryKey, key.Column.Name) && (holds(database.Words(column.Name), id) || len(own) > 3 && strings.HasSuffix(text, own)) {
		fit = 10 * len(own) // actor_id, idaction_url
		if strings.HasSuffix(text, own) {
			fit += atEnd
		}
	}
	prefix := 0 // how many words of the table's name are the application's prefix
	if len(table) > 1 && first[Name{column.Table.Schema, table[0]}] > 1 {
		prefix = 1
	}
	stem, isKey := database.Stem(column.Name)
	last, owner := len(table)-1, database.Words(column.Table.Name)
	nouns := singulars(table[last])
	word := strings.TrimRight(text, "0123456789") // device1
	for from := range table {
		whole := from == 0 || from == prefix
		property := from > 0 && from == len(owner) && slices.Equal(owner[:from-1], table[:from-1]) &&
			slices.Contains(singulars(owner[from-1]), table[from-1]) // order_types has what orders.type says
		samePrefix := whole && len(owner) >= from && slices.Equal(owner[:from], table[:from])
		for _, noun := range nouns {
			want := append(slices.Clone(table[from:last]), noun)
			name := strings.Join(want, "")
			rest := len(stem) - len(want)
			single := noun != table[last] || len(nouns) == 1 // not the plural, which counts rather than references
			ends := rest < 0 || slices.Equal(stem[rest:], want)
			switch {
			case isKey && holds(stem, want): // owner_user_id; status_id of ticket_status
			case (whole || property && single) && word == name && column.Table != key.Column.Table && column.Bits >= 24: // artist, device1
			case samePrefix && ends && rest > 0 && single && column.Bits >= 24 && len(name) > 3: // old_node, but not max_nodes
			case whole && (text == name+"id" || len(name) > 3 && strings.HasSuffix(text, name+"id")): // userid
			default:
				continue
			}
			of := 10*len(name+"id") - max(from-prefix, 0)
			if ends {
				of += atEnd
			}
			fit = max(fit, of)
		}
	}
	if fit == 0 && column.Table == key.Column.Table && (holds(database.Words(column.Name), []string{"parent"}) || text == "pid") {
		return 1
	}
	return fit
}

// Resembles reports whether a column's name suggests that it references the key, e.g.
// owner_user_id for users.id.
func Resembles(column, key Column) bool { return resembles(column, Key{Column: key}, nil) > 0 }

// holds reports whether the words contain others, in the same order and side by side.
func holds(words, others []string) bool {
	for i := 0; i+len(others) <= len(words); i++ {
		if slices.Equal(words[i:i+len(others)], others) {
			return true
		}
	}
	return false
}

func plain(name string) string { return strings.Join(database.Words(name), "") }

// singulars returns a noun along with its possible singulars in English, also those of
// taxa, data, people and children.
func singulars(noun string) []string {
	names := []string{noun}
	for _, ending := range []struct{ many, one string }{{"ies", "y"}, {"es", ""}, {"s", ""}, {"a", "on"}, {"a", "um"}, {"ople", "rson"}, {"ildren", "ild"}} {
		if stem, ok := strings.CutSuffix(noun, ending.many); ok && len(stem) > 1 {
			names = append(names, stem+ending.one)
		}
	}
	return names
}

// newest returns a subquery for the newest rows of the column's table, as far as the
// primary key tells. The rows that are deleted first are usually the oldest ones, so the
// oldest values are those that are no longer keys.
func (c *catalog) newest(column Column, expression string) string {
	var order []string
	for _, name := range c.primary[column.Table] {
		order = append(order, c.Quote(name)+" DESC")
	}
	by := ""
	if len(order) > 0 {
		by = " ORDER BY " + strings.Join(order, ", ")
	}
	return fmt.Sprintf("(SELECT %s AS v FROM %s%s LIMIT %d) s", expression, c.name(column.Table), by, sample)
}

// compareValues counts how many values in the newest rows of the column are keys. It
// ignores 0, which programs that don't use foreign keys often store instead of NULL.
func (c *catalog) compareValues(ctx context.Context, found *candidate) {
	if found.column.byHand() {
		return
	}
	query := fmt.Sprintf("SELECT COUNT(*), COUNT(p.k) FROM %s LEFT JOIN (SELECT %s AS k FROM %s) p ON p.k = s.v WHERE s.v <> 0",
		c.newest(found.column, c.Quote(found.column.Name)), c.Quote(found.key.Column.Name), c.name(found.key.Column.Table))
	rows := 0
	_, err := database.One(ctx, c.conn, query, func(*struct{}) []any { return []any{&rows, &found.known} })
	switch {
	case err != nil:
		found.rows = fmt.Sprintf("its values cannot be compared (%v)", err)
	case rows == 0:
		found.rows = "it has no rows to compare"
	default:
		found.rows = fmt.Sprintf("%d of its %d newest values are keys there", found.known, rows)
	}
}

// describe says what the newest rows of a column look like if no key's name fits: which
// tables its keys are of, if another column tells, or between which values they are.
func (c *catalog) describe(ctx context.Context, column Column) string {
	// In Rails and in Laravel, a row of items can belong either to a user or to a company.
	// The key is in items.owner_id, and items.owner_type has the name of the class, such as
	// User, or a code for it.
	name, _ := database.Stem(column.Name)
	for _, kind := range c.columns {
		if kind.Table != column.Table {
			continue
		}
		of, tells := strings.CutSuffix(plain(kind.Name), "type")
		if !tells || of != strings.Join(name, "") && (of != "" || plain(column.Name) != "objectid") {
			continue
		}
		const most = 10
		query := fmt.Sprintf("SELECT DISTINCT CAST(v AS CHAR(100)) FROM %s WHERE v IS NOT NULL", c.newest(column, c.Quote(kind.Name)))
		values, err := database.List(ctx, c.conn, query, database.Text)
		slices.Sort(values)
		for i := range values {
			values[i] = fmt.Sprintf("%q", strings.TrimSpace(values[i]))
		}
		if len(values) > most {
			values = append(values[:most], "others")
		}
		switch {
		case err != nil:
			return fmt.Sprintf("%s, which says whose keys they are, cannot be read (%v)", c.Quote(kind.Name), err)
		case len(values) == 0:
			return fmt.Sprintf("%s says whose keys they are, and has no rows", c.Quote(kind.Name))
		}
		return fmt.Sprintf("%s says whose keys they are: %s", c.Quote(kind.Name), strings.Join(values, ", "))
	}
	if column.byHand() {
		return ""
	}
	type extent struct{ low, high sql.Null[int64] }
	query := fmt.Sprintf("SELECT MIN(v), MAX(v) FROM %s WHERE v <> 0", c.newest(column, c.Quote(column.Name)))
	e, err := database.One(ctx, c.conn, query, func(e *extent) []any { return []any{&e.low, &e.high} })
	switch {
	case err != nil:
		return fmt.Sprintf("no table's name fits it, and its values cannot be read (%v)", err)
	case !e.low.Valid:
		return "no table's name fits it, and it has no rows"
	}
	return fmt.Sprintf("no table's name fits it, and its newest values are between %d and %d", e.low.V, e.high.V)
}

// judgeCandidate adds a finding to the key, or to the report if no single key fits.
func (s server) judgeCandidate(r *Report, c candidate) {
	f := Finding{Kind: LikelyChild, Severity: Warning, Column: c.column}
	name := path(c.column)
	switch {
	case c.column.byHand():
		f.Text = fmt.Sprintf("%s is %s and may hold keys: its name looks like it", s.column(c.column), c.column.Type)
		f.Remedy = fmt.Sprintf("decide: make it bigint[] if it is an array, or else long enough for 19 digits, along with its indexes and the functions that use it; or --not-child %s leaves it as it is", name)
	case c.key == nil:
		f.Text = fmt.Sprintf("%s is %s and may hold a key without a foreign key: its name looks like it; %s", s.column(c.column), c.column.Type, c.rows)
		f.Remedy = fmt.Sprintf("decide: --child %[1]s makes it wide, whichever key it holds, and --not-child %[1]s leaves it as it is", name)
	default:
		f.Text = fmt.Sprintf("%s is %s and may hold %s without a foreign key: its name fits, and %s", s.column(c.column), c.column.Type, s.column(c.key.Column), c.rows)
		f.Remedy = fmt.Sprintf("decide: --child %[1]s=%[2]s makes it wide together with the key, and --not-child %[1]s leaves it as it is", name, path(c.key.Column))
		c.key.Findings = append(c.key.Findings, f)
		return
	}
	r.Findings = append(r.Findings, f)
}

// path returns the name of a column as it is written in flags.
func path(c Column) string { return c.Table.Schema + "." + c.Table.Name + "." + c.Name }
