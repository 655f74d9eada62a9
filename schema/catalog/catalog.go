package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// A catalog holds what was read from a database, before assemble groups it by key.
type catalog struct {
	schemas   []string // all schemas that the caller may choose from
	inspected []string // the schemas to inspect by default
	keys      []Key    // from all schemas; assemble adds what uses them
	links     []link
	columns   []Column          // of tables, but not of partitions and inherited
	primary   map[Name][]string // the primary keys of all tables
	inherits  []inheritance
	uses      []use
	triggers  []Trigger
	unseen    []Finding

	// foldTable and foldColumn normalize names, so that names which the server treats
	// as equal are spelled the same.
	foldTable, foldColumn func(string) string
}

// A link is a column of a foreign key.
type link struct {
	constraint string // identifies the constraint
	ForeignKey
	whole Reference // without its columns
}

// references returns the foreign keys that exist in the database.
func (c *catalog) references() (all []Reference) {
	at := make(map[string]int)
	for _, l := range c.links {
		if l.Undeclared {
			continue
		}
		i, known := at[l.constraint]
		if !known {
			i, at[l.constraint] = len(all), len(all)
			l.whole.Name, l.whole.Child, l.whole.Parent = l.Name, l.Child.Table, l.Parent.Table
			all = append(all, l.whole)
		}
		all[i].Columns, all[i].Keys = append(all[i].Columns, l.Child.Name), append(all[i].Keys, l.Parent.Name)
	}
	return all
}

type inheritance struct{ child, parent Name }

// A use records that a view or another object uses a column of a table. Only Postgres
// keeps track of that.
type use struct {
	view      Name
	dependent string // describes the object if it isn't a view
	table     Name
	column    string
}

// A place identifies a column by its folded names.
type place struct{ schema, table, column string }

func (c *catalog) place(table Name, column string) place {
	return place{c.foldTable(table.Schema), c.foldTable(table.Name), c.foldColumn(column)}
}

func exact(name string) string { return name }

// byTable groups the names of columns by table.
func byTable(columns []Column) map[Name][]string {
	names := make(map[Name][]string)
	for _, c := range columns {
		names[c.Table] = append(names[c.Table], c.Name)
	}
	return names
}

// assemble returns the keys in the given schemas, along with everything that uses them.
func (c *catalog) assemble(schemas []string) []Key {
	keys := c.inherited()
	shared(keys)
	keys = slices.DeleteFunc(keys, func(k Key) bool { return !slices.Contains(schemas, k.Column.Table.Schema) })
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(
			strings.Compare(a.Column.Table.Schema, b.Column.Table.Schema),
			strings.Compare(a.Column.Table.Name, b.Column.Table.Name),
			strings.Compare(a.Column.Name, b.Column.Name))
	})
	children := c.children()
	uses := make(map[Name][]use)
	for _, u := range c.uses {
		uses[u.table] = append(uses[u.table], u)
	}
	for i := range keys {
		k := &keys[i]
		k.Counter.measure(k.Column)
		k.ForeignKeys = c.held(*k, children)
		k.used(uses)
		for _, t := range c.triggers {
			on := func(n Name) bool { return c.place(n, "") == c.place(t.Table, "") }
			if on(k.Column.Table) || slices.ContainsFunc(k.Inheritors, on) {
				k.Triggers = append(k.Triggers, t)
			}
		}
	}
	return keys
}

// inherited returns the keys without those that a table inherits from its parent. We
// leave these out because they take their numbers from the parent's sequence, and
// altering the parent alters them as well. A partition belongs to its table even if it
// isn't auto-increment itself: in Postgres 16 and earlier, partitions don't inherit an
// identity.
func (c *catalog) inherited() []Key {
	below := make(map[Name][]Name)
	for _, i := range c.inherits {
		below[i.parent] = append(below[i.parent], i.child)
	}
	sequences := make(map[place]Name)
	for _, k := range c.keys {
		sequences[c.place(k.Column.Table, k.Column.Name)] = k.Counter.Sequence
	}
	inherited := make(map[place]bool)
	keys := slices.Clone(c.keys)
	for i := range keys {
		k := &keys[i]
		tables := []Name{k.Column.Table}
		for j := 0; j < len(tables); j++ { // the slice grows as we go
			for _, table := range below[tables[j]] {
				at := c.place(table, k.Column.Name)
				sequence, counts := sequences[at]
				follows := k.Partitioned
				if counts {
					follows = sequence == k.Counter.Sequence || sequence == Name{}
				}
				if follows && !slices.Contains(tables, table) { // it may have two parents
					tables, inherited[at] = append(tables, table), true
				}
			}
		}
		k.Inheritors = tables[1:]
	}
	return slices.DeleteFunc(keys, func(k Key) bool { return inherited[c.place(k.Column.Table, k.Column.Name)] })
}

// shared sets SharedWith in keys that take their numbers from the same sequence.
func shared(keys []Key) {
	by := make(map[Name][]Column)
	for _, k := range keys {
		if k.Counter.Sequence != (Name{}) {
			by[k.Counter.Sequence] = append(by[k.Counter.Sequence], k.Column)
		}
	}
	for i := range keys {
		k := &keys[i]
		k.SharedWith = slices.DeleteFunc(slices.Clone(by[k.Counter.Sequence]), k.Column.same)
		owner := k.Counter.owner
		if owner.Name != "" && !owner.same(k.Column) && !slices.Contains(k.Inheritors, owner.Table) && !slices.ContainsFunc(k.SharedWith, owner.same) {
			k.SharedWith = append(k.SharedWith, owner)
		}
	}
}

func (c Column) same(other Column) bool { return c.Table == other.Table && c.Name == other.Name }

// children groups the foreign keys by the column they reference.
func (c *catalog) children() map[place][]ForeignKey {
	columns := make(map[string][]string)
	for _, l := range c.links {
		columns[l.constraint] = append(columns[l.constraint], l.Child.Name)
	}
	children := make(map[place][]ForeignKey)
	for _, l := range c.links {
		fk := l.ForeignKey
		if all := columns[l.constraint]; len(all) > 1 {
			fk.Columns = all
		}
		parent := c.place(fk.Parent.Table, fk.Parent.Name)
		children[parent] = append(children[parent], fk)
	}
	return children
}

// held returns the foreign keys to k, the foreign keys to their columns, and so on.
func (c *catalog) held(k Key, children map[place][]ForeignKey) (all []ForeignKey) {
	seen := make(map[place]bool)
	next := k.Columns()
	for len(next) > 0 {
		column := next[0]
		next = next[1:]
		at := c.place(column.Table, column.Name)
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, fk := range children[at] {
			all = append(all, fk)
			next = append(next, fk.Child)
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
