package autoinc

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// sample is how many rows of a column are compared with keys.
const sample = 10_000

// refuseLikely refuses columns that may hold one of the keys without a foreign key, until the
// caller has decided about them. It also looks for text and documents that contain a key,
// which can't be replaced.
func (r *rekeyer) refuseLikely(ctx context.Context, conn *sql.Conn) error {
	var decided []catalog.Column
	for _, k := range r.keys {
		decided = append(decided, k.Columns()...)
	}
	for _, f := range r.report.References {
		for _, name := range f.Columns {
			decided = append(decided, catalog.Column{Table: f.Child, Name: name})
		}
	}
	for _, named := range r.options.NotChildren {
		c, err := r.find(named)
		if err != nil {
			return err
		}
		decided = append(decided, c.Column)
	}
	for _, c := range decided { // a foreign key may be declared on each partition
		decided = append(decided, catalog.Column{Table: r.root(c.Table), Name: c.Name})
	}
	views, err := database.List(ctx, conn, r.query("only views"), tableName)
	if err != nil {
		return err
	}
	for _, c := range r.all {
		if r.root(c.Table) != c.Table || slices.Contains(views, c.Table) || has(decided, c.Column) || has(r.primary, c.Column) || c.computed || !slices.Contains(r.report.Schemas, c.Table.Schema) || strings.HasPrefix(c.Table.Name, "snowkey_") {
			continue
		}
		if err := r.compareValues(ctx, conn, c.Column); err != nil {
			return err
		}
	}
	return nil
}

// compareValues refuses a column that is like one of the keys, by its name or by its values.
func (r *rekeyer) compareValues(ctx context.Context, conn *sql.Conn, c catalog.Column) error {
	at := c.Table.Schema + "." + c.Table.Name + "." + c.Name
	before := len(r.refusals)
	stem, isKey := database.Stem(c.Name)
	isKey = isKey && !c.Text && !document(c) && slices.ContainsFunc(r.keys, func(k catalog.Key) bool { return kind(k.Column) == kind(c) || integer(k.Column) && integer(c) })
	for _, other := range r.of[c.Table] { // as in Rails and Laravel
		if isKey && slices.Equal(database.Words(other.Name), append(slices.Clone(stem), "type")) {
			r.refuse(c, fmt.Sprintf("decide: --child %s=TABLE.KEY,%s=VALUE for each table whose keys it holds replaces them too, and --not-child %[1]s leaves it as it is", at, other.Name),
				"it may hold keys of several tables, as its column %s says", r.Quote(other.Name))
			return nil
		}
	}
	for _, k := range r.keys {
		numbers := integer(c) && integer(k.Column) // two of them may be equal by chance
		alike := kind(c) == kind(k.Column) && !document(c)
		known, text := int64(0), "its name fits"
		if alike && !numbers {
			var err error
			if known, text, err = r.countKeys(ctx, conn, c, k.Column); err != nil {
				return err
			}
		}
		if known > 0 || (alike || numbers) && catalog.Resembles(c, k.Column) {
			r.refuse(c, fmt.Sprintf("decide: --child %s=%s.%s.%s replaces it too, and --not-child %[1]s leaves it as it is", at, k.Column.Table.Schema, k.Column.Table.Name, k.Column.Name),
				"it may hold %s without a foreign key: %s", r.column(k.Column), text)
			continue
		}
		if err := r.search(ctx, conn, c, k.Column); err != nil {
			return err
		}
	}
	if isKey && len(r.refusals) == before {
		r.refuse(c, fmt.Sprintf("decide: --child %s=TABLE.KEY replaces its values too, and --not-child %[1]s leaves it as it is", at), "it may hold a key without a foreign key: its name looks like it, and no table's name fits")
	}
	return nil
}

// countKeys returns how many of the first values of a column are keys, also as a text.
func (r *rekeyer) countKeys(ctx context.Context, conn *sql.Conn, c, key catalog.Column) (known int64, text string, err error) {
	values := int64(0)
	_, err = database.One(ctx, conn, fmt.Sprintf("SELECT count(*), count(p.k) FROM (SELECT %s AS v FROM %s WHERE %[1]s IS NOT NULL LIMIT %[3]d) AS s LEFT JOIN (SELECT %[4]s AS k FROM %[5]s) AS p ON p.k = s.v",
		r.Quote(c.Name), r.name(c.Table), sample, r.Quote(key.Name), r.name(key.Table)), func(*struct{}) []any { return []any{&values, &known} })
	if values == 0 {
		return 0, "its name fits, and it has no values to compare", err
	}
	return known, fmt.Sprintf("%d of its first %d values are keys there", known, values), err
}

// document reports whether a column holds JSON, in which a key can't be replaced.
func document(c catalog.Column) bool { return strings.HasPrefix(strings.ToLower(c.Type), "json") }

// integer reports whether the type of a column is one of integers. SQLite takes other types,
// such as uuid, for numbers too.
func integer(c catalog.Column) bool { return c.Bits > 0 && strings.Contains(kind(c), "int") }

// kind returns the kind of a column's type, such as uuid, or char for all kinds of text.
func kind(c catalog.Column) string {
	name, _, _ := strings.Cut(strings.ToLower(c.Type), "(")
	switch {
	case c.Text:
		return "char"
	case strings.HasSuffix(name, "binary") || name == "blob":
		return "binary"
	}
	return name
}

var uuids = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// search looks for UUIDs in the text or the documents of a column that are keys.
func (r *rekeyer) search(ctx context.Context, conn *sql.Conn, c, key catalog.Column) error {
	if !c.Text && !document(c) || integer(key) {
		return nil
	}
	text := map[bool]string{true: "CHAR", false: "text"}[r.IsMySQL()]
	values, err := database.List(ctx, conn, fmt.Sprintf("SELECT CAST(%s AS %s) FROM %s WHERE %[1]s IS NOT NULL LIMIT %[4]d", r.Quote(c.Name), text, r.name(c.Table), sample/10), database.Text)
	if err != nil {
		return err
	}
	in := make(map[string]int)
	for _, v := range values {
		for _, id := range uuids.FindAllString(v, -1) {
			in[id]++
		}
	}
	if len(in) == 0 {
		return nil
	}
	var literals []string
	for id := range in {
		literals = append(literals, r.Literal(id))
	}
	known, err := database.One(ctx, conn, fmt.Sprintf("SELECT count(*) FROM %s WHERE CAST(%s AS %s) IN (%s)", r.name(key.Table), r.Quote(key.Name), text, strings.Join(literals, ", ")), database.Number)
	if known > 0 {
		r.unseen = append(r.unseen, fmt.Sprintf("%s, of which the first %d values contain %d keys of %s", r.column(c), len(values), known, r.name(key.Table)))
	}
	return err
}
