package autoinc

import (
	"fmt"
	"maps"
	"slices"

	"github.com/snowkey-go/snowkey/schema/catalog"
)

// A postgresView is a view, along with everything that is lost when it is dropped.
type postgresView struct {
	name  catalog.Name
	kind  string // VIEW or MATERIALIZED VIEW
	owner string
	parts lists  // what creates it again, of the form description, statement
	lost  string // what we can't create again
}

func (v *postgresView) dest() []any {
	return []any{&v.name.Schema, &v.name.Name, &v.kind, &v.owner, &v.parts, &v.lost}
}

// viewsOf returns the views that use the columns of tables that are altered, be it directly or
// through another view. Each view comes after the views that it uses.
func (p *postgresPlanner) viewsOf(altered ...catalog.Name) (ordered []postgresView) {
	within := make(map[catalog.Name]bool)
	var reach func(table catalog.Name, columns []string)
	reach = func(table catalog.Name, columns []string) {
		for _, u := range p.uses {
			if u.dependent == "" && u.table == table && !within[u.view] && (columns == nil || slices.Contains(columns, u.column)) {
				within[u.view] = true
				reach(u.view, nil)
			}
		}
	}
	for _, table := range altered {
		tables := p.family(table)
		for _, c := range p.widened.columns[table] {
			for _, k := range p.counting(c) {
				tables = slices.Concat(tables, k.Inheritors)
			}
		}
		for _, member := range tables {
			reach(member, namesOf(p.widened.columns[table]))
		}
	}
	placed := make(map[catalog.Name]bool)
	var place func(name catalog.Name)
	place = func(name catalog.Name) {
		if placed[name] || !within[name] {
			return
		}
		placed[name] = true
		for _, u := range p.uses {
			if u.view == name {
				place(u.table)
			}
		}
		ordered = append(ordered, p.views[name])
	}
	for _, name := range slices.SortedFunc(maps.Keys(within), compareNames) {
		place(name)
	}
	return ordered
}

// dropViews drops the views in reverse order.
func (p *postgresPlanner) dropViews(tx transaction, column catalog.Column, views []postgresView) {
	for _, v := range slices.Backward(views) {
		name := p.name(v.name)
		if v.lost != "" {
			p.refuse(column, "drop the view, apply the phase widen, and create it again with all of that",
				"the view %s must be dropped before the type changes, which would lose %s", name, v.lost)
		}
		if !plain(v.name.Name) || !plain(v.name.Schema) || !plain(v.owner) {
			p.refuse(column, "rename it", "the view %s, or its owner, has a line end or another control character in its name", name)
		}
		var undo []string
		for _, part := range v.parts {
			undo = append(undo, part[1])
		}
		tx.add(Step{
			Text: "drop the view " + name + ", which blocks the change (0A000) and is created again below",
			SQL:  "DROP " + v.kind + " " + name, Locks: fmt.Sprintf(postgresExclusive, name), Undo: undo,
		})
	}
}

// makeViews creates the views again.
func (p *postgresPlanner) makeViews(tx transaction, views []postgresView) {
	for _, v := range views {
		for i, part := range v.parts {
			s := Step{Text: part[0], SQL: part[1], Locks: "the view"}
			if i == 0 {
				s.Undo = []string{"DROP " + v.kind + " " + p.name(v.name)}
			}
			if i == 0 && v.kind == "MATERIALIZED VIEW" {
				s.Rewrites = "computes all of its rows"
			}
			tx.add(s)
		}
	}
}
