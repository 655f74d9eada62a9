package gormid

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/internal/keytype"
)

// A conflict is an INSERT that may skip rows, or merge them into rows that have other keys.
type conflict struct {
	*creation
	clause.OnConflict
	skips    bool // rows are skipped, not merged
	returned bool // the INSERT returns the key of each row, and GORM sets it
}

// savedAssociations is the setting by which GORM remembers which associations of a call it
// has saved. A statement that saves associations has it from the start.
const savedAssociations = "gorm:saved_association_map"

// newConflict returns what settle will need after an INSERT that may merge rows.
func (c *creation) newConflict() *conflict {
	on, ok := c.stmt.Clauses["ON CONFLICT"]
	c.filled = slices.DeleteFunc(c.filled, c.key.lost) // because a hook has set another key
	x := &conflict{creation: c}
	x.OnConflict, _ = on.Expression.(clause.OnConflict)
	// We have to read DoNothing now, because GORM's MySQL dialect changes it while it
	// builds the statement.
	x.skips = !ok || x.DoNothing
	x.returned = len(x.filled) > 0 && x.returnKeys()
	return x
}

// returnKeys makes the INSERT return the key of each row if possible, and reports whether it
// does. This only works if the INSERT merges all rows that it doesn't insert, since it
// wouldn't return anything for a skipped row.
func (x *conflict) returnKeys() bool {
	if x.maps || x.skips || x.insert().Modifier != "" || len(x.Where.Exprs) > 0 || !slices.Contains(x.stmt.BuildClauses, "RETURNING") {
		return false
	}
	if x.list && x.stmt.Name() != "postgres" {
		return false // SQLite does not guarantee the order of RETURNING
	}
	key := x.key.field.DBName
	returning, given := x.stmt.Clauses["RETURNING"].Expression.(clause.Returning)
	if !given {
		for _, f := range x.stmt.Schema.FieldsWithDefaultDBValue { // GORM returns these by default
			returning.Columns = append(returning.Columns, clause.Column{Name: f.DBName})
		}
	} else if returnsAll(returning) {
		return !x.list // a list is replaced; see replaced
	}
	if !slices.ContainsFunc(returning.Columns, func(c clause.Column) bool { return c.Name == key }) {
		returning.Columns = append(slices.Clip(returning.Columns), clause.Column{Name: key})
		x.stmt.Clauses["RETURNING"] = clause.Clause{Name: "RETURNING", Expression: returning}
	}
	return true
}

// settle corrects the keys of rows that weren't inserted. To find them, it looks up which of
// the keys set by the plugin have made it into the table. If one is missing, its row was
// merged into another row and gets the key of that row, or it was skipped. A skipped row
// ends without a key, unless other rows of the call refer to it. In that case it also gets
// the key of the row in the table.
func (x *conflict) settle() error {
	if len(x.filled) == 0 || x.allInserted() || x.replaced() {
		return nil
	}
	if x.returned && x.stmt.RowsAffected == int64(len(x.rows)) {
		for _, s := range x.filled {
			if id, ok := x.key.number(s.row); ok && x.key.typ.Kind() == reflect.String {
				x.key.set(s.row, id) // without the spaces that a CHAR column adds
			}
		}
		if x.stmt.Name() != "mysql" || !x.key.lost(x.filled[0]) {
			return nil
		}
		return x.merge(x.filled) // MariaDB merges a row on any unique key
	}
	x.returned = false
	present, err := x.present()
	if err != nil {
		return err
	}
	var missing []sent
	for _, s := range x.filled {
		if present[s.id] {
			// This may have become the key of another row, because GORM assigns what
			// RETURNING yields to the first rows of the call.
			x.key.set(s.row, s.id)
		} else {
			missing = append(missing, s)
		}
	}
	if !x.skips || x.associated {
		return x.merge(missing)
	}
	for _, s := range missing {
		x.key.clear(s.row)
		if err := x.barren(s.row); err != nil {
			return err
		}
	}
	return nil
}

// allInserted reports whether we know that all rows were inserted. On MySQL we never do,
// because it merges rows on any unique key, and its count of rows depends on the settings
// of the connection.
func (x *conflict) allInserted() bool {
	if name := x.stmt.Name(); name != "postgres" && name != "sqlite" || x.insert().Modifier != "" {
		return false
	}
	if x.targetsKey() {
		return true // because a new key can't be in the table yet, and other conflicts are errors
	}
	_, returning := x.stmt.Clauses["RETURNING"] // with it, GORM miscounts
	return x.skips && !returning && x.stmt.RowsAffected == int64(len(x.rows))
}

// targetsKey reports whether the conflict clause names nothing but the key. If so, rows can
// only conflict if their keys are equal.
func (x *conflict) targetsKey() bool {
	if x.OnConstraint != "" {
		return false
	}
	if len(x.Columns) == 0 {
		return x.UpdateAll // GORM's default
	}
	return !slices.ContainsFunc(x.Columns, func(c clause.Column) bool { return c.Name != x.key.field.DBName })
}

// replaced reports whether GORM has replaced the rows with the result of RETURNING *. In
// that case the keys are right, because all of these rows are in the table.
func (x *conflict) replaced() bool {
	if !x.list || x.pointers || !slices.Contains(x.stmt.BuildClauses, "RETURNING") {
		return false
	}
	returning, ok := x.stmt.Clauses["RETURNING"].Expression.(clause.Returning)
	return ok && returnsAll(returning)
}

// returnsAll reports whether a clause is RETURNING *.
func returnsAll(r clause.Returning) bool {
	return len(r.Columns) == 0 || len(r.Columns) == 1 && r.Columns[0].Name == "*"
}

// present returns which of the keys set by the plugin are in the table.
func (x *conflict) present() (map[int64]bool, error) {
	values := make([]any, len(x.filled))
	for j, s := range x.filled {
		values[j] = x.key.value(s.id)
	}
	present := make(map[int64]bool, len(x.filled))
	in := clause.IN{Column: clause.Column{Name: x.key.field.DBName}, Values: values}
	return present, x.find([]lookup{{where: in}}, "", func(_ lookup, id int64) { present[id] = true })
}

// query returns an empty query on the table that the INSERT writes to.
func (x *conflict) query() *gorm.Statement {
	q := &gorm.Statement{DB: x.stmt.DB, Context: x.stmt.Context, Schema: x.stmt.Schema,
		Table: x.stmt.Table, TableExpr: x.stmt.TableExpr, ConnPool: x.stmt.ConnPool}
	if table := x.insert().Table.Name; table != "" {
		q.Table, q.TableExpr = table, nil
	}
	return q
}

// find calls each with the key of each row that a lookup finds. We must use the connection of
// the INSERT here. GORM might send the query to a replica, and that doesn't have the rows yet.
func (x *conflict) find(lookups []lookup, lock string, each func(l lookup, id int64)) error {
	q := x.query()
	for n, l := range lookups {
		if n > 0 {
			q.WriteString(" UNION ALL ")
		}
		if lock != "" {
			q.WriteByte('(')
		}
		q.WriteString("SELECT " + strconv.Itoa(n) + ",")
		q.WriteQuoted(clause.Column{Name: x.key.field.DBName})
		q.WriteString(" FROM ")
		q.WriteQuoted(clause.Table{Name: clause.CurrentTable})
		q.WriteString(" WHERE ")
		l.where.Build(q)
		q.WriteString(lock)
	}
	rows, err := q.ConnPool.QueryContext(q.Context, q.SQL.String(), q.Vars...)
	if err != nil {
		return x.key.Refuse(-1, err, "may have left rows out or merged them, and their keys cannot be read back", "set the keys before the call")
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		v := reflect.New(x.key.typ)
		if err := rows.Scan(&n, v.Interface()); err != nil {
			return err
		}
		id, ok := keytype.Get(v.Elem())
		if !ok {
			return x.key.Refuse(-1, nil, fmt.Sprintf("has the key %q in the table, which is not a number", v.Elem()), "correct it, or tag the key snowkey:-")
		}
		each(lookups[n], id)
	}
	return rows.Err()
}

// halfJoined returns an error if a row of a join table refers to a row that has no key. GORM
// creates such a row for one that it was told not to save, as with Omit("Tags.*"), and it
// would store 0. It uses DoNothing for the rows of join tables.
func (c *creation) halfJoined() error {
	if c.maps {
		return nil
	}
	s := c.key.schema
	for _, end := range relationsOf(s) {
		for _, rel := range end.FieldSchema.Relationships.Many2Many {
			if rel.JoinTable != s {
				continue
			}
			for _, ref := range rel.References {
				if ref.PrimaryKey == nil || !optedIn(ref.PrimaryKey) {
					continue
				}
				for _, r := range c.rows {
					if keytype.Empty(ref.ForeignKey.ReflectValueOf(c.stmt.Context, r.v)) {
						return c.key.Refuse(r.index, nil, "refers to a "+modelName(ref.PrimaryKey.Schema)+" in "+ref.ForeignKey.Name+" that has no key",
							"create that row first")
					}
				}
			}
		}
	}
	return nil
}

// barren returns an error if a row has children even though the upsert has skipped it. Their
// foreign keys would have nothing to refer to.
func (c *creation) barren(r row) error {
	if c.maps {
		return nil
	}
	selected, restricted := c.stmt.SelectAndOmitColumns(true, false)
	s := &c.key.schema.Relationships
	for _, rel := range slices.Concat(s.HasOne, s.HasMany, s.Many2Many) {
		if included, mentioned := selected[rel.Name]; !included && (mentioned || restricted) {
			continue // GORM doesn't save it
		}
		v, zero := rel.Field.ValueOf(c.stmt.Context, r.v)
		if children := reflect.Indirect(reflect.ValueOf(v)); zero || children.Kind() == reflect.Slice && children.Len() == 0 {
			continue
		}
		return c.key.Refuse(r.index, nil, "was left out by the upsert, and its "+rel.Name+" would refer to no row",
			"use Omit(\""+rel.Name+"\"), and create them for the row that is in the table")
	}
	return nil
}
