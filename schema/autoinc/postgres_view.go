package autoinc

import (
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/schema/catalog"
)

// A postgresView is a view, along with everything that is lost when it is dropped.
type postgresView struct {
	name  catalog.Name
	owner string
	parts []Step // what creates it again
	lost  string // what we can't create again
}

// viewsOf returns the views that use the columns of tables that are altered, be it directly or
// through another view. Each view comes after the views that it uses.
func (p *postgresPlanner) viewsOf(altered ...catalog.Name) (ordered []postgresView) {
	used := make(map[catalog.Column]bool)
	for _, table := range altered {
		tables := p.family(table)
		for _, c := range p.widened.columns[table] {
			for _, k := range p.counting(c) {
				tables = slices.Concat(tables, k.Inheritors)
			}
		}
		for _, c := range p.widened.columns[table] {
			for _, c.Table = range tables {
				used[bare(c)] = true
			}
		}
	}
	within := make(map[catalog.Name]bool)
	for _, v := range p.views {
		within[v.name] = slices.ContainsFunc(p.uses[v.name], func(o obstacle) bool { return within[o.Table] || used[bare(o.Column)] })
		if within[v.name] {
			ordered = append(ordered, v)
		}
	}
	return ordered
}

// dropViews drops the views that use columns of altered tables, in reverse order. It returns the
// steps that create them again.
func (p *postgresPlanner) dropViews(tx transaction, column catalog.Column, altered ...catalog.Name) (again []Step) {
	for _, v := range slices.Backward(p.viewsOf(altered...)) {
		name := p.name(v.name)
		if v.lost != "" {
			p.refuse(column, "drop the view, apply the phase widen, and create it again with all of that",
				"the view %s must be dropped before the type changes, which would lose %s", name, v.lost)
		}
		if !plain(v.name.Name) || !plain(v.name.Schema) || !plain(v.owner) {
			p.refuse(column, "rename it", "the view %s, or its owner, has a line end or another control character in its name", name)
		}
		tx.add(Step{
			Text: "drop the view " + name + ", which blocks the change (0A000) and is created again below",
			SQL:  v.parts[0].Undo[0], Locks: fmt.Sprintf(postgresExclusive, name), Undo: statements(v.parts),
		})
		again = slices.Concat(v.parts, again)
	}
	return again
}
