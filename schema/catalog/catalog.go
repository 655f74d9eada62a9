package catalog

import (
	"cmp"
	"database/sql"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A catalog holds what was read from a database, before assemble groups it by key.
type catalog struct {
	server
	conn      *sql.Conn
	schemas   []string // all schemas that the caller may choose from
	inspected []string // those that the caller chose, or else the ones to inspect by default
	keys      []Key    // from all schemas; assemble adds what uses them
	columns   []tableColumn
	known     map[Column]Column // the same by their folded names
	primary   map[Name][]string // the primary keys of all tables
	uses      []use
	triggers  []Trigger
	unseen    []Finding

	references []Reference  // the foreign keys that exist in the database
	undeclared []ForeignKey // and those that only the caller knows

	foldsTables bool // whether the names of tables are the same in upper and lower case
}

// A tableColumn is a column of a table, with what only this package needs to know.
type tableColumn struct {
	Column
	mechanism Mechanism
	fallback  string // its default
	computed  bool   // whether the database computes it
	kind      string // where it isn't an ordinary table's own: partition, inherited, foreign, or other
	root      Name   // the partitioned table, for the column of a partition
}

// find returns a column with its type. It may have been created or dropped since we read the
// columns.
func (c *catalog) find(named Column) Column {
	if known, ok := c.known[c.fold(named)]; ok {
		return known
	}
	return named
}

// A link is a column of a foreign key, or on MySQL also of a primary key, which references
// nothing.
type link struct {
	constraint    string // identifies the constraint
	Reference            // without its columns
	child, parent Column
}

// join makes the foreign keys of their columns, which are side by side. On MySQL, the rules say
// the rest.
func (c *catalog) join(links, rules []link) {
	whole := make(map[string]Reference)
	for _, r := range rules {
		whole[r.constraint] = r.Reference
	}
	last := ""
	for _, l := range links {
		child, parent := c.find(l.child), c.find(l.parent)
		if parent.Name == "" {
			c.primary[child.Table] = append(c.primary[child.Table], child.Name)
			continue
		}
		if l.constraint != last {
			r := l.Reference
			if c.IsMySQL() {
				r = whole[l.constraint]
			}
			r.Name, r.Child, r.Parent = l.Name, child.Table, parent.Table
			c.references, last = append(c.references, r), l.constraint
		}
		r := &c.references[len(c.references)-1]
		r.Columns, r.Keys = append(r.Columns, child.Name), append(r.Keys, parent.Name)
	}
}

// addKeys adds the primary keys that have one column and don't count.
func (c *catalog) addKeys() {
	for _, column := range c.columns {
		names := c.primary[column.Table]
		if !slices.Equal(names, []string{column.Name}) || strings.HasPrefix(column.Table.Name, "snowkey_") {
			continue
		}
		i := slices.IndexFunc(c.keys, func(k Key) bool { return k.Column.same(column.Column) })
		if i < 0 {
			i = len(c.keys)
			c.keys = append(c.keys, Key{Column: column.Column, PrimaryKey: names})
		}
		c.keys[i].inherited = c.keys[i].inherited || column.kind == "partition"
	}
}

// A use records that a view or another object uses a column of a table. Only Postgres
// keeps track of that.
type use struct {
	view      Name
	dependent string // describes the object if it isn't a view
	table     Name
	column    string
}

// bare returns the name of a column without its type.
func (c Column) bare() Column { return Column{Table: c.Table, Name: c.Name} }

func (c Column) same(other Column) bool { return c.bare() == other.bare() }

// fold returns the name of a column in the form that it has in common with all names which
// the server treats as equal.
func (c *catalog) fold(column Column) Column {
	switch {
	case c.Dialect == SQLite:
		return Column{Table: Name{ddl.Lower(column.Table.Schema), ddl.Lower(column.Table.Name)}, Name: ddl.Lower(column.Name)}
	case c.IsMySQL():
		column.Name = strings.ToLower(column.Name)
		if c.foldsTables {
			column.Table = Name{strings.ToLower(column.Table.Schema), strings.ToLower(column.Table.Name)}
		}
	}
	return column.bare()
}

// assemble returns the keys in the inspected schemas, along with everything that uses them.
// We leave out keys that a table inherits from its parent, because they take their numbers
// from the parent's sequence, and altering the parent alters them as well.
func (c *catalog) assemble() []Key {
	keys := slices.DeleteFunc(slices.Clone(c.keys), func(k Key) bool { return k.inherited })
	share(keys)
	keys = slices.DeleteFunc(keys, func(k Key) bool { return !slices.Contains(c.inspected, k.Column.Table.Schema) })
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(
			strings.Compare(a.Column.Table.Schema, b.Column.Table.Schema),
			strings.Compare(a.Column.Table.Name, b.Column.Table.Name),
			strings.Compare(a.Column.Name, b.Column.Name))
	})
	children := c.children()
	uses := database.Grouped(c.uses, func(u use) Name { return u.table })
	table := func(n Name) Column { return c.fold(Column{Table: n}) }
	for i := range keys {
		k := &keys[i]
		k.Counter.measure(k.Column)
		k.ForeignKeys = k.held(children)
		k.used(uses)
		for _, t := range c.triggers {
			on := func(n Name) bool { return table(n) == table(t.Table) }
			if on(k.Column.Table) || slices.ContainsFunc(k.Inheritors, on) {
				k.Triggers = append(k.Triggers, t)
			}
		}
	}
	return keys
}

// share sets SharedWith in keys that take their numbers from the same sequence.
func share(keys []Key) {
	by := database.Grouped(keys, func(k Key) Name { return k.Counter.Sequence })
	delete(by, Name{})
	for i := range keys {
		k := &keys[i]
		for _, other := range by[k.Counter.Sequence] {
			if !other.Column.same(k.Column) {
				k.SharedWith = append(k.SharedWith, other.Column)
			}
		}
		owner := k.Counter.owner
		if owner.Name != "" && !owner.same(k.Column) && !slices.Contains(k.Inheritors, owner.Table) && !slices.ContainsFunc(k.SharedWith, owner.same) {
			k.SharedWith = append(k.SharedWith, owner)
		}
	}
}

// children groups the foreign keys by the column they reference.
func (c *catalog) children() map[Column][]ForeignKey {
	var all []ForeignKey
	for _, r := range c.references {
		for i := range r.Columns {
			fk := ForeignKey{Name: r.Name, Child: c.find(Column{Table: r.Child, Name: r.Columns[i]}), Parent: c.find(Column{Table: r.Parent, Name: r.Keys[i]})}
			if len(r.Columns) > 1 {
				fk.Columns = r.Columns
			}
			all = append(all, fk)
		}
	}
	return database.Grouped(append(all, c.undeclared...), func(fk ForeignKey) Column { return fk.Parent.bare() })
}

// held returns the foreign keys to k, the foreign keys to their columns, and so on.
func (k Key) held(children map[Column][]ForeignKey) (all []ForeignKey) {
	seen := make(map[Column]bool)
	next := k.Columns()
	for i := 0; i < len(next); i++ { // the slice grows as we go
		at := next[i].bare()
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, fk := range children[at] {
			all, next = append(all, fk), append(next, fk.Child)
		}
	}
	return all
}

// used adds the views and other objects that use the key or a column that references
// it, and the views that use these views. uses holds the uses of each table.
func (k *Key) used(uses map[Name][]use) {
	next := k.Columns()
	for i := 0; i < len(next); i++ { // the slice grows as we go
		column := next[i].Name // empty for a view, of which all columns count
		for _, u := range uses[next[i].Table] {
			switch {
			case column != "" && u.column != column:
			case u.dependent == "" && !slices.Contains(k.Views, u.view):
				k.Views, next = append(k.Views, u.view), append(next, Column{Table: u.view})
			case u.dependent != "" && column != "" && !slices.Contains(k.Dependents, u.dependent):
				k.Dependents = append(k.Dependents, u.dependent)
			}
		}
	}
}
