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
// won't fit. Since nothing in a catalog proves that a column holds keys, Inspect
// reports the columns whose names, types and values look like it. It's up to the caller
// to decide, with [Options.Children] and [Options.NotChildren].

const postgresNumbers = `SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
	format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE a.atttypid END, NULL)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND COALESCE(NULLIF(t.typbasetype, 0), t.oid) IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
ORDER BY n.nspname, c.relname, a.attnum`

// declareAll adds the columns that, according to the caller, hold a key.
func (c *catalog) declareAll(s server, options Options) error {
	for _, fk := range options.Children {
		child, err := c.number(s, fk.Child)
		if err != nil {
			return err
		}
		parent, err := c.number(s, fk.Parent)
		if err != nil {
			return err
		}
		c.declare(child, parent)
	}
	return nil
}

func (c *catalog) declare(child, parent Column) {
	c.links = append(c.links, link{
		constraint: "without " + path(child),
		// Without a constraint, nothing deletes or updates through this column, so it
		// doesn't need an index.
		ForeignKey: ForeignKey{Child: child, Parent: parent, Indexed: true, Undeclared: true},
	})
}

// number returns the integer column that the caller named, with or without its schema.
func (c *catalog) number(s server, named Column) (Column, error) {
	at := c.place(named.Table, named.Name)
	var found []Column
	for _, column := range c.numbers {
		place := c.place(column.Table, column.Name)
		if named.Table.Schema == "" {
			place.schema = ""
		}
		if place == at {
			found = append(found, column)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return Column{}, fmt.Errorf("catalog: %w: %d columns of integers are named %s", ErrColumn, len(found), s.column(named))
}

// A candidate is a column that may hold a key.
type candidate struct {
	column  Column
	key     Column
	of      int   // index of the key in the report
	quality int   // how well the name fits, see resembles
	rows    int   // how many rows we looked at
	known   int   // how many of these rows have a value that is a key
	err     error // why the rows couldn't be read, such as a missing privilege

	// A polymorphic column holds keys of several tables. kind is the column that names
	// the table, and named has the keys of the tables that we found there.
	kind  string
	named []Column
}

// sample is how many rows of a column we compare with the keys.
const sample = 10_000

// findChildren returns the columns that may hold a key without a foreign key.
func (s server) findChildren(ctx context.Context, conn *sql.Conn, c *catalog, report Report, options Options) (likely []candidate, err error) {
	decided := make(map[place]bool)
	for _, l := range c.links {
		decided[c.place(l.Child.Table, l.Child.Name)] = true
	}
	for _, k := range c.keys {
		decided[c.place(k.Column.Table, k.Column.Name)] = true
	}
	for _, named := range options.NotChildren {
		column, err := c.number(s, named)
		if err != nil {
			return nil, err
		}
		decided[c.place(column.Table, column.Name)] = true
	}
	kinds, err := c.kindColumns(ctx, conn, s)
	if err != nil {
		return nil, err
	}
	for _, column := range c.numbers {
		if !column.narrow() || decided[c.place(column.Table, column.Name)] || !slices.Contains(report.Schemas, column.Table.Schema) {
			continue
		}
		var best candidate
		for i, k := range report.Keys {
			quality := resembles(column, k.Column)
			if !k.Primary() || quality <= best.quality {
				continue
			}
			found := candidate{column: column, key: k.Column, of: i, quality: quality}
			found.err = s.compareValues(ctx, conn, &found)
			if ctx.Err() != nil {
				return nil, fmt.Errorf("catalog: %w", ctx.Err())
			}
			if 2*found.known >= found.rows {
				best = found
			}
		}
		if name, ok := strings.CutSuffix(column.Name, "_id"); ok && best.quality == 0 {
			if kind, ok := kinds[c.place(column.Table, name+"_type")]; ok {
				best, err = s.polymorphic(ctx, conn, column, kind, report.Keys)
				if err != nil {
					return nil, err
				}
			}
		}
		if best.key.Name != "" {
			likely = append(likely, best)
		}
	}
	return likely, nil
}

// In Rails and in Laravel, a row of items can belong either to a user or to a company.
// The key is in items.owner_id, and items.owner_type has the name of the class, such as
// User. The information schema works the same on MySQL and Postgres, so both share this
// query.
const kindColumns = `SELECT table_schema, table_name, column_name FROM information_schema.columns
WHERE RIGHT(column_name, 5) = '_type' AND data_type NOT LIKE '%int%'`

// kindColumns returns the names of the columns that may say which table a key belongs
// to.
func (c *catalog) kindColumns(ctx context.Context, conn *sql.Conn, s server) (map[place]string, error) {
	if s.Dialect == database.SQLite {
		return nil, nil // SQLite has no narrow integers
	}
	all, err := database.List(ctx, conn, kindColumns, func(c *Column) []any { return []any{&c.Table.Schema, &c.Table.Name, &c.Name} })
	names := make(map[place]string)
	for _, column := range all {
		names[c.place(column.Table, column.Name)] = column.Name
	}
	return names, err
}

// polymorphic returns a candidate for the first key whose table is named in the column
// kind. If the table has no rows, there's no way to know which tables it refers to, so
// the first key stands in for all of them. If there are rows but none of them names a
// table, the candidate is zero.
func (s server) polymorphic(ctx context.Context, conn *sql.Conn, column Column, kind string, keys []Key) (candidate, error) {
	query := fmt.Sprintf("SELECT DISTINCT CAST(k AS CHAR(100)) FROM (SELECT %[1]s AS k FROM %[2]s LIMIT %[3]d) s WHERE k IS NOT NULL", s.Quote(kind), s.name(column.Table), sample)
	found := candidate{column: column, kind: kind}
	var values []string
	values, found.err = database.List(ctx, conn, query, func(v *string) []any { return []any{v} })
	if ctx.Err() != nil {
		return candidate{}, fmt.Errorf("catalog: %w", ctx.Err())
	}
	for i, k := range keys {
		if !k.Primary() || k.Column.Table.Schema != column.Table.Schema {
			continue
		}
		names := singulars(plain(k.Column.Table.Name))
		if len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(names, plain(class(v))) }) {
			if found.key.Name == "" {
				found.key, found.of = k.Column, i
			}
			if len(values) > 0 {
				found.named = append(found.named, k.Column)
			}
		}
	}
	return found, nil
}

// class returns the name of a class without its module, such as Post for Blog::Post and
// for App\Models\Post.
func class(name string) string {
	return name[strings.LastIndexAny(name, `:\./`)+1:]
}

// resembles rates how well the name of a column fits a key, where 0 means not at all.
func resembles(column, key Column) int {
	if column.Table.Schema != key.Table.Schema {
		return 0
	}
	name, id := plain(column.Name), plain(key.Name)
	if id != "id" && strings.HasSuffix(name, id) { // actor_id references actors.actor_id
		return 3 + len(id)
	}
	best := 0
	for _, table := range singulars(plain(key.Table.Name)) {
		if whole := table + strings.TrimPrefix(id, table); strings.HasSuffix(name, whole) { // user_id, owner_user_id
			best = max(best, 2+len(whole))
		}
	}
	if best == 0 && column.Table == key.Table && name == "parent"+id {
		return 1
	}
	return best
}

func plain(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "")
}

// singulars returns a table's name along with its possible singulars in English.
func singulars(table string) []string {
	names := []string{table}
	for _, ending := range []struct{ many, one string }{{"ies", "y"}, {"es", ""}, {"s", ""}} {
		if stem, ok := strings.CutSuffix(table, ending.many); ok && len(stem) > 1 {
			names = append(names, stem+ending.one)
		}
	}
	return names
}

// compareValues counts how many values in the first rows of the column are keys. It
// ignores 0, which programs that don't use foreign keys often store instead of NULL.
func (s server) compareValues(ctx context.Context, conn *sql.Conn, c *candidate) error {
	query := fmt.Sprintf(`SELECT COUNT(*), COUNT(p.k) FROM (SELECT %[1]s AS v FROM %[2]s LIMIT %[3]d) s LEFT JOIN (SELECT %[4]s AS k FROM %[5]s) p ON p.k = s.v WHERE s.v <> 0`,
		s.Quote(c.column.Name), s.name(c.column.Table), sample, s.Quote(c.key.Name), s.name(c.key.Table))
	_, err := database.One(ctx, conn, query, func(*struct{}) []any { return []any{&c.rows, &c.known} })
	return err
}

func (s server) judgeCandidate(k *Key, c candidate) {
	if c.kind != "" {
		of := "and the table has no rows that tell of which"
		if c.err != nil {
			of = fmt.Sprintf("and of which cannot be read (%v)", c.err)
		} else if len(c.named) > 0 {
			var names []string
			for _, key := range c.named {
				names = append(names, s.column(key))
			}
			of = "here of " + strings.Join(names, ", ")
		}
		k.find(LikelyChild, Warning, c.column,
			fmt.Sprintf("%s is %s and may hold keys of the tables that %s names, %s", s.column(c.column), c.column.Type, s.Quote(c.kind), of),
			fmt.Sprintf("decide: --child %[1]s=%[2]s makes it wide together with that key, which is enough for the keys of all tables, and --not-child %[1]s leaves it as it is", path(c.column), path(k.Column)))
		return
	}
	values := "it has no rows to compare"
	if c.err != nil {
		values = fmt.Sprintf("its values cannot be compared (%v)", c.err)
	} else if c.rows > 0 {
		values = fmt.Sprintf("%d of %d values are keys there", c.known, c.rows)
	}
	k.find(LikelyChild, Warning, c.column,
		fmt.Sprintf("%s is %s and may hold %s without a foreign key: its name fits, and %s", s.column(c.column), c.column.Type, s.column(k.Column), values),
		fmt.Sprintf("decide: --child %[1]s=%[2]s makes it wide together with the key, and --not-child %[1]s leaves it as it is", path(c.column), path(k.Column)))
}

// path returns the name of a column as it is written in flags.
func path(c Column) string { return c.Table.Schema + "." + c.Table.Name + "." + c.Name }
