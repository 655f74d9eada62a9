package gormid

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/ddl"
)

// A unique is a unique key of a table, other than the primary key.
type unique struct {
	name    string
	columns []column
	inexact bool // it compares an expression, or only the first characters of a column
}

// A column is a column of a unique key. On databases other than MySQL, it only has a name.
type column struct {
	name string
	// cast is the type of a column that may change a value when it stores it, as a DATETIME(3)
	// does with microseconds. Since MySQL would compare what is stored with what was sent, the
	// value must be cast to this type.
	cast string
	null bool // it is NULL if the INSERT doesn't name it
}

// A match is a row of the call with the rows of the table that have its unique values.
type match struct {
	ids      []int64 // each once
	named    bool    // one of them has its values in the columns of the conflict clause
	compared bool    // we have looked for such a row
	unclear  string  // a unique key whose values we don't know
}

// A lookup finds the rows of the table that have the values of a match in one unique key.
type lookup struct {
	*match
	where clause.Expression
	named bool // the key has the columns of the conflict clause
}

// merge gives each missing row the key of the row that it was merged into, or that has kept
// it out. It finds that row by the values in the columns of the conflict clause, or in all
// unique keys if there are no such columns. We let the database compare the values, because
// only it knows its collations.
//
// MySQL ignores the columns of the clause, and changes the row that it meets first in any of
// the unique keys. If a row has the unique values of several rows, merge fails.
func (x *conflict) merge(missing []sent) error {
	if len(missing) == 0 {
		return nil
	}
	uniques, err := x.findUniques()
	if err != nil {
		return err
	}
	named := unique{columns: x.target(uniques)}
	alive := x.alive()
	matches := make([]match, len(missing))
	var lookups []lookup
	for n, s := range missing {
		m := &matches[n]
		add := func(u unique, named bool, also []clause.Expression) (known bool) {
			where, known := x.sameAs(s.index, u)
			if len(where) > 0 {
				lookups = append(lookups, lookup{m, clause.Where{Exprs: append(where, also...)}, named})
			}
			return known
		}
		m.compared = !x.skips && add(named, true, x.TargetWhere.Exprs)
		if m.compared && x.returned {
			continue // we know which row was changed
		}
		for _, u := range uniques {
			if !u.includes(named) && !add(u, false, alive) {
				m.unclear = u.name
			}
		}
	}
	lock := ""
	if x.stmt.Name() == "mysql" {
		// Like the INSERT, the SELECT must see rows that are newer than the transaction, so it
		// needs FOR UPDATE. The INSERT has already locked the row that it has changed.
		lock = " FOR UPDATE)"
	}
	for some := range slices.Chunk(lookups, 100) { // SQLite allows 500 SELECTs in a UNION
		err := x.find(some, lock, func(l lookup, id int64) {
			l.match.named = l.match.named || l.named
			if !slices.Contains(l.ids, id) {
				l.ids = append(l.ids, id)
			}
		})
		if err != nil {
			return err
		}
	}
	for n, s := range missing {
		err = cmp.Or(err, x.accept(matches[n], s))
	}
	return err
}

// accept gives a row the key of the row in the table. If it isn't certain which one that is,
// accept clears the key and returns an error.
func (x *conflict) accept(m match, s sent) error {
	problem, remedy := "was merged into a row whose key is not known", "name the unique columns in clause.OnConflict.Columns, or set the key"
	if x.skips {
		problem = "was left out for a row whose key is not known, and other rows would refer to it"
	}
	unnamed := x.returned && !m.compared
	switch {
	case m.unclear != "":
		problem += ", because its values in the unique key " + m.unclear + " are not"
		remedy = "look the row up, and set the key"
	case unnamed && len(m.ids) == 0:
		return nil // the row was not merged on a key that the clause doesn't name
	case len(m.ids) > 1:
		problem += ", because more than one row has its unique values"
		remedy = "look the row up, and set the key"
	case len(m.ids) == 1 && !unnamed && (m.named || x.skips) && (!x.returned || !x.key.lost(sent{s.row, m.ids[0]})):
		x.key.set(s.row, m.ids[0])
		return nil
	case x.associated: // GORM has written the clause
		remedy = "look up the row that has its unique values, and set the key"
	}
	x.key.clear(s.row)
	return x.key.Refuse(s.index, nil, problem, remedy)
}

// target returns the columns whose values must be equal for the INSERT to merge two rows, or
// nil if we don't know them.
func (x *conflict) target(uniques []unique) (columns []column) {
	names := x.Columns
	if x.OnConstraint != "" {
		names = nil
		if unique, ok := x.key.schema.ParseUniqueConstraints()[x.OnConstraint]; ok {
			names = []clause.Column{{Name: unique.Field.DBName}}
		}
	}
	for _, name := range names {
		c := column{name: name.Name}
		for _, u := range uniques {
			if i := slices.IndexFunc(u.columns, c.is); i >= 0 {
				c = u.columns[i]
			}
		}
		columns = append(columns, c)
	}
	return columns
}

// is reports whether c and d are the same column of a table.
func (c column) is(d column) bool { return c.name == d.name }

// alive returns the conditions with which GORM leaves out rows that were soft-deleted. No
// other row may refer to such a row.
func (x *conflict) alive() []clause.Expression {
	if !x.skips {
		return nil
	}
	q := &gorm.Statement{DB: x.stmt.DB, Schema: x.key.schema, Clauses: make(map[string]clause.Clause)}
	for _, c := range x.key.schema.QueryClauses {
		q.AddClause(c)
	}
	where, _ := q.Clauses["WHERE"].Expression.(clause.Where)
	return where.Exprs
}

// includes reports whether u has all columns of v.
func (u unique) includes(v unique) bool {
	lacking := func(c column) bool { return !slices.ContainsFunc(u.columns, c.is) }
	return len(v.columns) > 0 && !u.inexact && !slices.ContainsFunc(v.columns, lacking)
}

// sameAs returns conditions for the rows that have the same values as row i of the call in the
// columns of u. If one of the values is NULL there are no such rows, and no conditions. It
// returns false if we don't know the values.
func (x *conflict) sameAs(i int, u unique) (where []clause.Expression, known bool) {
	values, _ := x.stmt.Clauses["VALUES"].Expression.(clause.Values)
	if u.inexact || len(u.columns) == 0 {
		return nil, false
	}
	for _, column := range u.columns {
		var v any
		if k := slices.IndexFunc(values.Columns, func(c clause.Column) bool { return strings.EqualFold(c.Name, column.name) }); k >= 0 {
			v = values.Values[i][k]
		} else if !column.null {
			return nil, false
		}
		if _, computed := v.(clause.Expression); computed {
			return nil, false
		}
		if v, err := canonical(v); err == nil && v == nil {
			return nil, true
		}
		if column.cast != "" {
			v = clause.Expr{SQL: "CAST(? AS " + column.cast + ")", Vars: []any{v}}
		}
		where = append(where, clause.Eq{Column: clause.Column{Name: column.name}, Value: v})
	}
	return where, true
}

// uniqueColumns lists the columns of the unique keys of a table. The name of an expression is
// empty. MariaDB writes a default of NULL as text.
const uniqueColumns = `SELECT s.index_name, COALESCE(s.column_name, ''),
	CASE WHEN c.data_type IN ('date', 'time', 'datetime', 'timestamp', 'decimal', 'float')
		THEN SUBSTRING_INDEX(REPLACE(c.column_type, 'timestamp', 'datetime'), ' ', 1) ELSE '' END,
	s.column_name IS NULL OR s.sub_part IS NOT NULL,
	COALESCE(c.is_nullable = 'YES' AND c.extra = ''
		AND (c.column_default IS NULL OR c.column_default = 'NULL' AND VERSION() LIKE '%MariaDB%'), FALSE)
FROM information_schema.statistics s LEFT JOIN information_schema.columns c
	ON c.table_schema = s.table_schema AND c.table_name = s.table_name AND c.column_name = s.column_name
WHERE s.table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND s.table_name = ? AND s.non_unique = 0
ORDER BY s.index_name, s.seq_in_index`

// findUniques returns the unique keys of the table that merge must compare.
func (x *conflict) findUniques() ([]unique, error) {
	switch {
	case x.stmt.Name() == "mysql":
	case x.skips:
		return declared(x.key.schema), nil
	default:
		return nil, nil
	}
	q := x.query()
	q.WriteQuoted(clause.Table{Name: clause.CurrentTable})
	name := q.SQL.String() // such as `shop`.`users`
	if known, ok := x.uniques.Load(name); ok {
		return known.([]unique), nil
	}
	path := append([]string{""}, ddl.Names(name, true)[0]...)
	rows, err := q.ConnPool.QueryContext(q.Context, uniqueColumns, path[len(path)-2], path[len(path)-1])
	if err != nil {
		return nil, fmt.Errorf("gormid: read the columns of %s: %w", x.key.Model, err)
	}
	defer rows.Close()
	var all []unique
	for rows.Next() {
		var key string
		var c column
		var inexact bool
		if err := rows.Scan(&key, &c.name, &c.cast, &inexact, &c.null); err != nil {
			return nil, err
		}
		if n := len(all); n == 0 || all[n-1].name != key {
			all = append(all, unique{name: key})
		}
		u := &all[len(all)-1]
		u.columns = append(u.columns, c)
		u.inexact = u.inexact || inexact
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(u unique) bool { // because the keys are new
		return slices.ContainsFunc(u.columns, column{name: x.key.field.DBName}.is)
	})
	x.uniques.Store(name, all)
	return all, nil
}

// declared returns the unique keys in the declaration of a model.
func declared(s *schema.Schema) (uniques []unique) {
	for _, c := range s.ParseUniqueConstraints() {
		uniques = append(uniques, unique{name: c.Name, columns: []column{{name: c.Field.DBName}}})
	}
	for _, index := range s.ParseIndexes() {
		if index.Class != "UNIQUE" {
			continue
		}
		u := unique{name: index.Name, inexact: index.Where != ""}
		for _, f := range index.Fields {
			u.columns = append(u.columns, column{name: f.DBName})
			u.inexact = u.inexact || f.Expression != "" || f.Length > 0
		}
		uniques = append(uniques, u)
	}
	return uniques
}
