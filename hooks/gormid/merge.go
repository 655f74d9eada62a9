package gormid

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/internal/ddl"
)

// A table is what merge must know about a table to find rows by their unique values. On
// databases other than MySQL, it only has the unique keys, and only of rows that were skipped.
type table struct {
	uniques []unique
	// casts are the types of columns that may change a value when they store it, as a
	// DATETIME(3) does with microseconds. Since MySQL would compare what is stored with
	// what was sent, the value must be cast to the column's type.
	casts map[string]string
	nulls map[string]bool // the columns that are NULL if the INSERT doesn't name them
}

// A unique is a unique key of a table, other than the primary key.
type unique struct {
	name    string
	columns []string
	inexact bool // it compares an expression, or only the first characters of a column
}

// A match is a row of the call with the rows of the table that have its unique values.
type match struct {
	ids      []int64 // each once
	named    bool    // one of them has its values in the columns of the conflict clause
	compared bool    // we have looked for such a row
	unclear  string  // a unique key whose values we don't know
}

// A lookup is a query for the rows that have the values of a match in one unique key.
type lookup struct {
	*match
	named bool
	where clause.Where
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
	t, err := x.describe()
	if err != nil {
		return err
	}
	values, _ := x.stmt.Clauses["VALUES"].Expression.(clause.Values)
	named := unique{columns: x.target()}
	alive := x.alive()
	matches := make([]match, len(missing))
	var lookups []lookup
	for n, s := range missing {
		m := &matches[n]
		add := func(u unique, named bool, also []clause.Expression) bool {
			where, ok := t.sameAs(values.Columns, values.Values[s.index], u)
			if len(where.Exprs) > 0 {
				where.Exprs = append(where.Exprs, also...)
				lookups = append(lookups, lookup{m, named, where})
			}
			return ok
		}
		m.compared = !x.skips && add(named, true, x.TargetWhere.Exprs)
		if m.compared && x.returned {
			continue // we know which row was changed
		}
		for _, u := range t.uniques {
			if !u.includes(named) && !add(u, false, alive) {
				m.unclear = u.name
			}
		}
	}
	for some := range slices.Chunk(lookups, 100) { // SQLite allows 500 SELECTs in a UNION
		if err := x.run(x.union(some), func(n int, id int64) {
			m := some[n].match
			m.named = m.named || some[n].named
			if !slices.Contains(m.ids, id) {
				m.ids = append(m.ids, id)
			}
		}); err != nil {
			return err
		}
	}
	var first error
	for n, s := range missing {
		if x.accept(matches[n], s.row) {
			continue
		}
		s.clear()
		if first == nil {
			first = x.unknown(matches[n], s.index)
		}
	}
	return first
}

// accept gives r the key of the row in the table, if there is no doubt which one that is.
func (x *conflict) accept(m match, r row) bool {
	switch {
	case m.unclear != "":
		return false
	case x.returned && !m.compared: // r was not merged on a key that the clause doesn't name
		return len(m.ids) == 0
	case len(m.ids) != 1 || !m.named && !x.skips || x.returned && !r.has(m.ids[0]):
		return false
	}
	r.set(m.ids[0])
	return true
}

// unknown returns the error for row i of the call, which accept has rejected.
func (x *conflict) unknown(m match, i int) error {
	problem, remedy := "was merged into a row whose key is not known", "name the unique columns in clause.OnConflict.Columns, or set the key"
	if x.skips {
		problem = "was left out for a row whose key is not known, and other rows would refer to it"
	}
	switch {
	case m.unclear != "":
		problem += ", because its values in the unique key " + m.unclear + " are not"
		remedy = "look the row up, and set the key"
	case len(m.ids) > 1:
		problem += ", because more than one row has its unique values"
		remedy = "look the row up, and set the key"
	case x.associated: // GORM has written the clause
		remedy = "look up the row that has its unique values, and set the key"
	}
	return x.key.Refuse(i, nil, problem, remedy)
}

// target returns the columns whose values must be equal for the INSERT to merge two rows, or
// nil if we don't know them.
func (x *conflict) target() []string {
	if x.OnConstraint != "" {
		if unique, ok := x.key.schema.ParseUniqueConstraints()[x.OnConstraint]; ok {
			return []string{unique.Field.DBName}
		}
		return nil
	}
	var names []string
	for _, c := range x.Columns {
		names = append(names, c.Name)
	}
	return names
}

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

// union returns a query for all rows that the lookups find. Each has the index of its lookup.
func (x *conflict) union(some []lookup) *gorm.Statement {
	mysql := x.stmt.Dialector.Name() == "mysql"
	q := x.query()
	for n, l := range some {
		if n > 0 {
			q.WriteString(" UNION ALL ")
		}
		if mysql {
			q.WriteByte('(')
		}
		x.writeSelect(q, n)
		l.where.Build(q)
		if mysql {
			// Like the INSERT, the SELECT must see rows that are newer than the
			// transaction, so it needs FOR UPDATE. The INSERT has already locked the
			// row that it has changed.
			q.WriteString(" FOR UPDATE)")
		}
	}
	return q
}

// includes reports whether u has all columns of v.
func (u unique) includes(v unique) bool {
	return len(v.columns) > 0 && !u.inexact && !slices.ContainsFunc(v.columns, func(name string) bool { return !slices.Contains(u.columns, name) })
}

// sameAs returns a condition for the rows that have the same values as a row of the INSERT in
// the columns of u. If one of the values is NULL there are no such rows, and the condition is
// empty. It returns false if we don't know the values.
func (t *table) sameAs(columns []clause.Column, values []any, u unique) (where clause.Where, known bool) {
	if u.inexact || len(u.columns) == 0 {
		return where, false
	}
	for _, name := range u.columns {
		var v any
		if k := slices.IndexFunc(columns, func(c clause.Column) bool { return strings.EqualFold(c.Name, name) }); k >= 0 {
			v = values[k]
		} else if !t.nulls[name] {
			return clause.Where{}, false
		}
		if _, computed := v.(clause.Expression); computed {
			return clause.Where{}, false
		}
		if v, err := canonical(v); err == nil && v == nil {
			return clause.Where{}, true
		}
		if kind := t.casts[name]; kind != "" {
			v = clause.Expr{SQL: "CAST(? AS " + kind + ")", Vars: []any{v}}
		}
		where.Exprs = append(where.Exprs, clause.Eq{Column: clause.Column{Name: name}, Value: v})
	}
	return where, true
}

// describe returns what merge must know about the table.
func (x *conflict) describe() (*table, error) {
	if x.stmt.Dialector.Name() != "mysql" {
		if x.skips {
			return &table{uniques: declared(x.key.schema)}, nil
		}
		return &table{}, nil
	}
	name := x.query().Table
	if known, ok := x.tables.Load(name); ok {
		return known.(*table), nil
	}
	var columns []struct {
		Field, Type, Null, Extra string
		Default                  *string
	}
	var parts []struct {
		Key       string  `gorm:"column:Key_name"`
		NonUnique string  `gorm:"column:Non_unique"`
		Column    *string `gorm:"column:Column_name"` // nil for an expression
		SubPart   *string `gorm:"column:Sub_part"`
	}
	if err := errors.Join(x.show("COLUMNS", &columns), x.show("INDEX", &parts)); err != nil {
		return nil, err
	}
	t := &table{casts: make(map[string]string), nulls: make(map[string]bool)}
	for _, c := range columns {
		t.nulls[c.Field] = c.Null == "YES" && c.Default == nil && c.Extra == ""
		args := ""
		if open, end := strings.IndexByte(c.Type, '('), strings.IndexByte(c.Type, ')'); open >= 0 && end > open {
			args = c.Type[open : end+1]
		}
		switch column := ddl.ParseType(c.Type); column.Name {
		case "date", "time", "datetime", "decimal", "float":
			t.casts[c.Field] = column.Name + args
		case "timestamp":
			t.casts[c.Field] = "datetime" + args
		}
	}
	for _, p := range parts {
		if p.NonUnique != "0" {
			continue
		}
		if n := len(t.uniques); n == 0 || t.uniques[n-1].name != p.Key {
			t.uniques = append(t.uniques, unique{name: p.Key})
		}
		u := &t.uniques[len(t.uniques)-1]
		if p.Column != nil {
			u.columns = append(u.columns, *p.Column)
		}
		u.inexact = u.inexact || p.Column == nil || p.SubPart != nil
	}
	t.uniques = slices.DeleteFunc(t.uniques, func(u unique) bool { // because the keys are new
		return slices.Contains(u.columns, x.key.field.DBName)
	})
	x.tables.Store(name, t)
	return t, nil
}

// declared returns the unique keys in the declaration of a model.
func declared(s *schema.Schema) (uniques []unique) {
	for _, c := range s.ParseUniqueConstraints() {
		uniques = append(uniques, unique{name: c.Name, columns: []string{c.Field.DBName}})
	}
	for _, index := range s.ParseIndexes() {
		if index.Class != "UNIQUE" {
			continue
		}
		u := unique{name: index.Name, inexact: index.Where != ""}
		for _, f := range index.Fields {
			u.columns = append(u.columns, f.DBName)
			u.inexact = u.inexact || f.Expression != "" || f.Length > 0
		}
		uniques = append(uniques, u)
	}
	return uniques
}

// show reads the rows of a SHOW statement about the table into dest.
func (x *conflict) show(what string, dest any) error {
	q := x.query()
	q.WriteString("SHOW " + what + " FROM ")
	q.WriteQuoted(clause.Table{Name: clause.CurrentTable})
	rows, err := q.ConnPool.QueryContext(q.Context, q.SQL.String())
	if err != nil {
		return fmt.Errorf("gormid: read the columns of %s: %w", x.key.Model, err)
	}
	defer rows.Close()
	if !rows.Next() {
		return rows.Err()
	}
	return x.stmt.DB.Session(&gorm.Session{NewDB: true}).ScanRows(rows, dest)
}
