package catalog

import (
	"cmp"
	"database/sql"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
)

// A catalog holds what was read from a database, before assemble groups it by key.
type catalog struct {
	server
	conn      *sql.Conn
	schemas   []string // all schemas that the caller may choose from
	inspected []string // those that the caller chose, or else the ones to inspect by default
	keys      []Key    // from all schemas; assemble adds what uses them
	links     []link
	columns   []Column          // of tables, but not of partitions and inherited
	primary   map[Name][]string // the primary keys of all tables
	uses      []use
	triggers  []Trigger
	unseen    []Finding

	foldsTables bool // whether the names of tables are the same in upper and lower case
}

// A link is a column of a foreign key.
type link struct {
	constraint string // identifies the constraint
	ForeignKey
	whole Reference // without its columns
}

// references returns the foreign keys that exist in the database. The links of each are side
// by side.
func (c *catalog) references() (all []Reference) {
	for i, l := range c.links {
		if i == 0 || l.constraint != c.links[i-1].constraint {
			l.whole.Name, l.whole.Child, l.whole.Parent = l.Name, l.Child.Table, l.Parent.Table
			all = append(all, l.whole)
		}
		r := &all[len(all)-1]
		r.Columns, r.Keys = append(r.Columns, l.Child.Name), append(r.Keys, l.Parent.Name)
	}
	return all
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

// grouped groups a list by a key.
func grouped[K comparable, V any](all []V, key func(V) K) map[K][]V {
	groups := make(map[K][]V)
	for _, v := range all {
		groups[key(v)] = append(groups[key(v)], v)
	}
	return groups
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
	uses := grouped(c.uses, func(u use) Name { return u.table })
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
	by := grouped(keys, func(k Key) Name { return k.Counter.Sequence })
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
	of := grouped(c.links, func(l link) string { return l.constraint })
	children := make(map[Column][]ForeignKey)
	for _, l := range c.links {
		if all := of[l.constraint]; len(all) > 1 {
			for _, other := range all {
				l.Columns = append(l.Columns, other.Child.Name)
			}
		}
		children[l.Parent.bare()] = append(children[l.Parent.bare()], l.ForeignKey)
	}
	return children
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
	add := func(u use) {
		switch {
		case u.dependent == "" && !slices.Contains(k.Views, u.view):
			k.Views = append(k.Views, u.view)
		case u.dependent != "" && !slices.Contains(k.Dependents, u.dependent):
			k.Dependents = append(k.Dependents, u.dependent)
		}
	}
	for _, column := range k.Columns() {
		for _, u := range uses[column.Table] {
			if u.column == column.Name {
				add(u)
			}
		}
	}
	for i := 0; i < len(k.Views); i++ { // the slice grows as we go
		for _, u := range uses[k.Views[i]] {
			if u.dependent == "" {
				add(u)
			}
		}
	}
}
