package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"regexp"
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

// declare adds the columns that, according to the caller, hold a key.
func (c *catalog) declare(options Options) error {
	for _, fk := range options.Children {
		child, err := c.named(fk.Child, options.AllKeys)
		if err == nil && fk.Parent.Name != "" {
			fk.Parent, err = c.named(fk.Parent, options.AllKeys)
		}
		if err == nil && fk.TypeColumn != "" {
			_, err = c.named(Column{Table: child.Table, Name: fk.TypeColumn}, true)
		}
		switch {
		case err != nil:
			return err
		case child.byHand() && !options.AllKeys:
			return fmt.Errorf("catalog: %w: %s is %s; alter it yourself", ErrColumn, c.column(child), child.Type)
		}
		fk.Child = child
		c.addChild(fk)
	}
	return nil
}

// addChild adds a foreign key that doesn't exist. Without a parent, it references the first key
// of the schema.
func (c *catalog) addChild(fk ForeignKey) {
	fk.Undeclared = true
	if fk.Parent.Name == "" {
		i := slices.IndexFunc(c.keys, func(k Key) bool { return k.Column.Table.Schema == fk.Child.Table.Schema })
		if i < 0 {
			return
		}
		fk.Parent, fk.AnyKey = c.keys[i].Column, true
	}
	c.undeclared = append(c.undeclared, fk)
}

// named returns the column that the caller named, with or without its schema. It must hold
// integers, unless it may have any type.
func (c *catalog) named(name Column, anyType bool) (Column, error) {
	at := c.fold(name)
	var found []Column
	for _, column := range c.columns {
		folded := c.fold(column.Column)
		if name.Table.Schema == "" {
			folded.Table.Schema = ""
		}
		if folded == at && column.kind != "other" && (anyType || column.Bits > 0 || column.byHand()) {
			found = append(found, column.Column)
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(column Column) bool { return !slices.Contains(c.inspected, column.Table.Schema) })
	}
	if len(found) == 1 {
		return found[0], nil
	}
	what := map[bool]string{true: "columns", false: "columns of integers"}[anyType]
	return Column{}, fmt.Errorf("catalog: %w: %d %s are named %s", ErrColumn, len(found), what, c.column(name))
}

// A candidate is a column that may hold a key.
type candidate struct {
	column Column
	key    *Key   // the key whose name fits best, or nil
	fit    int    // how well the name fits, see resembles
	rows   string // what the newest rows say
	known  int    // how many of them have a value that is a key
	kind   string // the column beside it that says whose key it is, if there is one
}

// better reports whether a key is more likely than another one. Numbers may be equal by chance,
// other values hardly.
func (c candidate) better(other candidate) bool {
	fit, known := cmp.Compare(c.fit, other.fit), cmp.Compare(c.known, other.known)
	if !c.column.integer() {
		fit, known = known, fit
	}
	return other.key == nil || cmp.Or(fit, known, len(other.key.Column.Table.Name)-len(c.key.Column.Table.Name)) > 0
}

// sample is how many of the newest rows of a column we compare with the keys.
const sample = 10_000

// findChildren returns the columns that may hold a key without a foreign key. If the caller
// has decided that they do, it declares those that needn't be altered by hand instead.
func (c *catalog) findChildren(ctx context.Context, keys []Key, options Options) (likely []candidate, err error) {
	if len(keys) == 0 || options.OnlyDeclared {
		return nil, nil
	}
	decided, err := c.decided(options)
	if err != nil {
		return nil, err
	}
	tables := database.Grouped(c.columns, func(t tableColumn) Name { return t.Table })
	first := firstWords(tables)
	for _, column := range c.columns {
		if decided[column.bare()] || !c.mayHold(column, options) {
			continue
		}
		best := candidate{column: column.Column}
		isKey := !options.AllKeys // as far as its type tells
		for i := range keys {
			alike, byName := column.alike(keys[i].Column), !options.AllKeys || column.integer()
			isKey = isKey || alike
			if options.AllKeys && !alike {
				continue
			}
			found := candidate{column: column.Column, key: &keys[i], fit: resembles(column.Column, keys[i], first)}
			if byName && (found.fit == 0 || found.fit < best.fit) {
				continue
			}
			c.compareValues(ctx, &found)
			if found.fit+found.known > 0 && found.better(best) {
				best = found
			}
		}
		if document := column.Text || strings.HasPrefix(column.sort(), "json"); document && options.AllKeys {
			if err := c.search(ctx, column.Column, keys); err != nil {
				return nil, err
			}
		}
		isKey = isKey && !column.Text && database.NamedLikeKey(column.Name) // text may well identify something else
		if isKey && (options.AllKeys || best.key == nil) {
			best.kind = typeColumn(column.Column, tables[column.Table])
		}
		switch {
		case best.key == nil && !isKey:
			continue
		case best.key == nil || options.AllKeys && best.kind != "": // or there are several keys
			best.key, best.rows = nil, c.describe(ctx, best)
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("catalog: %w", ctx.Err())
		}
		switch fk := (ForeignKey{Child: column.Column}); {
		case !options.LikelyChildren || column.byHand():
			likely = append(likely, best)
		case best.key == nil:
			c.addChild(fk)
		default:
			fk.Parent = best.key.Column
			c.addChild(fk)
		}
	}
	return likely, nil
}

// mayHold reports whether a column may hold a key, and has to be altered if it does.
func (c *catalog) mayHold(column tableColumn, options Options) bool {
	ordinary := column.kind == "" || column.kind == "inherited" && options.AllKeys
	matters := column.narrow() || column.byHand() || options.AllKeys && !column.computed
	return ordinary && matters && slices.Contains(c.inspected, column.Table.Schema) && !strings.HasPrefix(column.Table.Name, "snowkey_")
}

// decided returns the columns that hold a key, or that hold none as the caller says.
func (c *catalog) decided(options Options) (map[Column]bool, error) {
	decided := make(map[Column]bool)
	for _, fks := range c.children() {
		for _, fk := range fks {
			decided[fk.Child.bare()] = true
		}
	}
	for _, k := range c.keys {
		decided[k.Column.bare()] = true
	}
	for _, name := range options.NotChildren {
		column, err := c.named(name, options.AllKeys)
		if err != nil {
			return nil, err
		}
		decided[column.bare()] = true
	}
	for _, column := range c.columns { // a foreign key may be declared on each partition
		if column.root != (Name{}) && decided[column.bare()] {
			decided[Column{Table: column.root, Name: column.Name}] = true
		}
	}
	return decided, nil
}

// alike reports whether a column has a type of the same kind as a key.
func (c Column) alike(key Column) bool {
	return c.integer() && key.integer() || c.sort() == key.sort() && !strings.HasPrefix(c.sort(), "json")
}

// integer reports whether the type is one of integers. SQLite takes other types, such as uuid,
// for numbers too.
func (c Column) integer() bool { return c.Bits > 0 && strings.Contains(c.sort(), "int") }

// sort returns the kind of a column's type, such as uuid, or char for all kinds of text.
func (c Column) sort() string {
	name, _, _ := strings.Cut(strings.ToLower(c.Type), "(")
	switch {
	case c.Text:
		return "char"
	case strings.HasSuffix(name, "binary") || name == "blob":
		return "binary"
	}
	return name
}

// firstWords counts the tables of each schema by the first word of their names, because
// applications begin their tables with a prefix, such as wp_.
func firstWords(tables map[Name][]tableColumn) map[Name]int {
	count := make(map[Name]int)
	for table, columns := range tables {
		if w := database.Words(table.Name); len(w) > 1 && columns[0].kind == "" {
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
	if !column.integer() {
		by = fmt.Sprintf(" WHERE %s IS NOT NULL", expression)
	}
	if len(order) > 0 {
		by += " ORDER BY " + strings.Join(order, ", ")
	}
	return fmt.Sprintf("(SELECT %s AS v FROM %s%s LIMIT %d) s", expression, c.name(column.Table), by, sample)
}

// compareValues counts how many values in the newest rows of the column are keys. It
// ignores 0, which programs that don't use foreign keys often store instead of NULL.
func (c *catalog) compareValues(ctx context.Context, found *candidate) {
	key, given := found.key.Column, ""
	switch {
	case found.column.Bits > 0:
		given = " WHERE s.v <> 0"
	case !found.column.alike(key):
		return
	}
	query := fmt.Sprintf("SELECT COUNT(*), COUNT(p.k) FROM %s LEFT JOIN (SELECT %s AS k FROM %s) p ON p.k = s.v%s",
		c.newest(found.column, c.Quote(found.column.Name)), c.Quote(key.Name), c.name(key.Table), given)
	rows := 0
	_, err := database.One(ctx, c.conn, query, func(*struct{}) []any { return []any{&rows, &found.known} })
	switch {
	case err != nil: // which may hide that they are keys
		found.known, found.rows = 1, fmt.Sprintf("its values cannot be compared (%v)", err)
	case rows == 0:
		found.rows = "it has no rows to compare"
	default:
		found.rows = fmt.Sprintf("%d of its %d newest values are keys there", found.known, rows)
	}
}

var uuids = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// search adds a finding to the keys, of other types than integers, that the text or documents of
// a column contain as UUIDs.
func (c *catalog) search(ctx context.Context, column Column, keys []Key) error {
	text := map[bool]string{true: "CHAR", false: "text"}[c.IsMySQL()]
	values, err := database.List(ctx, c.conn, fmt.Sprintf("SELECT CAST(%s AS %s) FROM %s WHERE %[1]s IS NOT NULL LIMIT %[4]d",
		c.Quote(column.Name), text, c.name(column.Table), sample/10), database.Text)
	ids := uuids.FindAllString(strings.Join(values, "\n"), -1)
	slices.Sort(ids)
	in := c.Literals(slices.Compact(ids))
	for i := range keys {
		k := &keys[i]
		if err != nil || in == "" || k.Column.integer() {
			continue
		}
		var known int64
		known, err = database.One(ctx, c.conn, fmt.Sprintf("SELECT count(*) FROM %s WHERE CAST(%s AS %s) IN (%s)", c.name(k.Column.Table), c.Quote(k.Column.Name), text, in), database.Number)
		if known > 0 {
			k.find(KeysInText, Note, column, "replace them when the keys are replaced",
				"%s, of which the first %d values contain %d keys of %s", c.column(column), len(values), known, c.name(k.Column.Table))
		}
	}
	return err
}

// typeColumn returns the name of the column that says whose key another column of its table
// holds, if there is one. In Rails and in Laravel, a row of items can belong either to a user or
// to a company. The key is in items.owner_id, and items.owner_type has the name of the class,
// such as User, or a code for it.
func typeColumn(column Column, columns []tableColumn) string {
	name, _ := database.Stem(column.Name)
	for _, kind := range columns {
		of, tells := strings.CutSuffix(plain(kind.Name), "type")
		if tells && (of == strings.Join(name, "") || of == "" && plain(column.Name) == "objectid") {
			return kind.Name
		}
	}
	return ""
}

// describe says what the newest rows of a column look like if no single key fits: which tables
// its keys are of, if another column tells, or between which values they are.
func (c *catalog) describe(ctx context.Context, of candidate) string {
	if of.kind != "" {
		const most = 10
		kind := c.Quote(of.kind)
		query := fmt.Sprintf("SELECT DISTINCT CAST(v AS CHAR(100)) FROM %s WHERE v IS NOT NULL", c.newest(of.column, kind))
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
			return fmt.Sprintf("%s, which says whose keys they are, cannot be read (%v)", kind, err)
		case len(values) == 0:
			return fmt.Sprintf("%s says whose keys they are, and has no rows", kind)
		}
		return fmt.Sprintf("%s says whose keys they are: %s", kind, strings.Join(values, ", "))
	}
	const none = "no table's name fits it"
	if !of.column.integer() && !of.column.narrow() {
		return none
	}
	type extent struct{ low, high sql.Null[int64] }
	query := fmt.Sprintf("SELECT MIN(v), MAX(v) FROM %s WHERE v <> 0", c.newest(of.column, c.Quote(of.column.Name)))
	e, err := database.One(ctx, c.conn, query, func(e *extent) []any { return []any{&e.low, &e.high} })
	switch {
	case err != nil:
		return fmt.Sprintf("%s, and its values cannot be read (%v)", none, err)
	case !e.low.Valid:
		return none + ", and it has no rows"
	}
	return fmt.Sprintf("%s, and its newest values are between %d and %d", none, e.low.V, e.high.V)
}

// judgeCandidate adds a finding to the key, or to the report if no single key fits. The remedy
// depends on whether keys get more bits or, for AllKeys, other values.
func (s server) judgeCandidate(r *Report, c candidate, options Options) {
	name := path(c.column)
	text := fmt.Sprintf("%s is %s and may hold ", s.column(c.column), c.column.Type)
	change, child, all := "makes it wide together with the key", name, "makes it wide, whichever key it holds"
	if options.AllKeys {
		change, child, all = "replaces it too", name+"=TABLE.KEY", "replaces its values too"
	}
	if options.AllKeys && c.kind != "" {
		child, all = child+","+c.kind+"=VALUE", "for each table whose keys it holds replaces them too"
	}
	findings := &r.Findings
	switch {
	case c.column.byHand() && !options.AllKeys:
		text += "keys: its name looks like it"
		child, all = "", "make it bigint[] if it is an array, or else long enough for 19 digits, along with its indexes and the functions that use it; or"
	case c.key == nil:
		text += "a key without a foreign key: its name looks like it; " + c.rows
	default:
		fits := map[bool]string{true: "its name fits, and "}[c.fit > 0]
		text += fmt.Sprintf("%s without a foreign key: %s%s", s.column(c.key.Column), fits, c.rows)
		child, all, findings = name+"="+path(c.key.Column), change, &c.key.Findings
	}
	if child != "" {
		all = fmt.Sprintf("--child %s %s, and", child, all)
	}
	remedy := fmt.Sprintf("decide: %s --not-child %s leaves it as it is", all, name)
	*findings = append(*findings, Finding{Kind: LikelyChild, Severity: Warning, Column: c.column, Text: text, Remedy: remedy})
}

// path returns the name of a column as it is written in flags.
func path(c Column) string { return c.Table.Schema + "." + c.Table.Name + "." + c.Name }
