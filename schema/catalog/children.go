package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// Many schemas have columns that hold a key without a foreign key that says so. Such a
// column must become wide together with the key, or else the first generated key does
// not fit. Nothing in a catalog proves that a column is one. So Inspect reports columns
// whose names, types and values look like it, and the caller decides with
// [Options.Children] and [Options.NotChildren].

const postgresNumbers = `SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
	format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE a.atttypid END, NULL)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND COALESCE(NULLIF(t.typbasetype, 0), t.oid) IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
ORDER BY n.nspname, c.relname, a.attnum`

// declareAll adds the columns that the caller knows to hold a key.
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
		// Nothing deletes or updates through it, so it needs no index.
		ForeignKey: ForeignKey{Child: child, Parent: parent, Indexed: true, Undeclared: true},
	})
}

// number returns the integer column that the caller has named. The caller may leave out
// the schema.
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
	of      int   // the key's place in the report
	quality int   // of the name
	rows    int   // that were looked at
	known   int   // of these, those whose value is a key
	err     error // of reading them, if for example the privilege is missing
}

// sample is how many rows of a column are compared with the keys.
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
		if best.quality > 0 {
			likely = append(likely, best)
		}
	}
	return likely, nil
}

// resembles reports how well the name of a column fits a key: 0 is not at all.
func resembles(column, key Column) int {
	if column.Table.Schema != key.Table.Schema {
		return 0
	}
	plain := func(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "") }
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

// singulars returns a table's name and what may be its singular in English.
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
// ignores 0, which programs without foreign keys often store instead of NULL.
func (s server) compareValues(ctx context.Context, conn *sql.Conn, c *candidate) error {
	query := fmt.Sprintf(`SELECT COUNT(*), COUNT(p.k) FROM (SELECT %[1]s AS v FROM %[2]s LIMIT %[3]d) s LEFT JOIN (SELECT %[4]s AS k FROM %[5]s) p ON p.k = s.v WHERE s.v <> 0`,
		s.Quote(c.column.Name), s.name(c.column.Table), sample, s.Quote(c.key.Name), s.name(c.key.Table))
	_, err := database.One(ctx, conn, query, func(*struct{}) []any { return []any{&c.rows, &c.known} })
	return err
}

func (s server) judgeCandidate(k *Key, c candidate) {
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

// path is how flags name a column.
func path(c Column) string { return c.Table.Schema + "." + c.Table.Name + "." + c.Name }
