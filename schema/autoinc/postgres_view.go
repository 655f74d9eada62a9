package autoinc

import (
	"context"
	"database/sql"
	_ "embed" // for the queries
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

//go:embed postgres_views.sql
var postgresViews string

// A postgresView is a view, along with everything that is lost when it is dropped.
type postgresView struct {
	name       catalog.Name
	definition string
	options    string
	owner      string
	comment    string
	grants     lists // of the form privilege, role, option
	defaults   lists // roles that default privileges grant something to on each new view
	comments   lists // of the form column, comment
	stored     bool  // whether it is a materialized view
	populated  bool
	indexes    lists  // of a materialized view, with the statements that create each of them
	lost       string // what we can't create again
}

func (v *postgresView) dest() []any {
	return []any{&v.name.Schema, &v.name.Name, &v.definition, &v.options, &v.owner, &v.comment, &v.grants, &v.defaults, &v.comments, &v.stored, &v.populated, &v.indexes, &v.lost}
}

// kind returns the kind of view, as used in statements.
func (v *postgresView) kind() string {
	if v.stored {
		return "MATERIALIZED VIEW"
	}
	return "VIEW"
}

// lists can be scanned from a JSON array of arrays of text.
type lists [][]string

// Scan implements sql.Scanner.
func (l *lists) Scan(source any) error {
	var text sql.NullString
	if err := text.Scan(source); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text.String), l)
}

func (p *postgresPlanner) readViews(ctx context.Context, conn *sql.Conn) error {
	views, err := database.List(ctx, conn, postgresViews, (*postgresView).dest)
	for _, v := range views {
		p.views[v.name] = v
	}
	return err
}

// viewsOf returns the views that use the columns, be it directly or through another
// view. Each view comes after the views that it uses.
func (p *postgresPlanner) viewsOf(tables []catalog.Name, columns []string) (ordered []postgresView) {
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
	for _, table := range tables {
		reach(table, columns)
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
	var names []catalog.Name
	for name := range within {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b catalog.Name) int { return strings.Compare(a.Schema+"\x00"+a.Name, b.Schema+"\x00"+b.Name) })
	for _, name := range names {
		place(name)
	}
	return ordered
}

// dropViews drops the views in reverse order.
func (p *postgresPlanner) dropViews(phase PhaseName, unit int, column catalog.Column, views []postgresView) {
	for _, v := range slices.Backward(views) {
		if v.lost != "" {
			p.refuse(column, "drop the view, apply the phase widen, and create it again with all of that",
				"the view %s must be dropped before the type changes, which would lose %s", p.name(v.name), v.lost)
		}
		if !plain(v.name.Name) || !plain(v.name.Schema) || !plain(v.owner) {
			p.refuse(column, "rename it", "the view %s, or its owner, has a line end or another control character in its name", p.name(v.name))
		}
		var undo []string
		for _, s := range p.viewSteps(v) {
			undo = append(undo, s.SQL)
		}
		p.add(phase, Step{
			Text: "drop the view " + p.name(v.name) + ", which blocks the change (0A000) and is created again below",
			SQL:  "DROP " + v.kind() + " " + p.name(v.name), Unit: unit, Locks: fmt.Sprintf(postgresExclusive, p.name(v.name)), Undo: undo,
		})
	}
}

// makeViews creates the views again.
func (p *postgresPlanner) makeViews(phase PhaseName, unit int, views []postgresView) {
	for _, v := range views {
		for i, s := range p.viewSteps(v) {
			s.Unit, s.Locks = unit, "the view"
			if i == 0 {
				if v.stored {
					s.Rewrites = "computes all of its rows"
				}
				s.Undo = []string{"DROP " + v.kind() + " " + p.name(v.name)}
			}
			p.add(phase, s)
		}
	}
}

// viewSteps returns the steps that create a view with its owner, privileges and
// comments.
func (p *postgresPlanner) viewSteps(v postgresView) (steps []Step) {
	name := p.name(v.name)
	add := func(text, sql string) { steps = append(steps, Step{Text: text, SQL: sql}) }
	with := ""
	if v.options != "" {
		with = " WITH (" + v.options + ")"
	}
	definition := strings.TrimSuffix(v.definition, ";")
	if v.stored && !v.populated {
		definition += " WITH NO DATA"
	}
	add("create the view "+name+" again", "CREATE "+v.kind()+" "+name+with+" AS\n"+definition)
	for _, statements := range v.indexes {
		for _, sql := range statements {
			if sql != "" {
				add("create its index again", sql)
			}
		}
	}
	add("give it to its owner", "ALTER "+v.kind()+" "+name+" OWNER TO "+p.Quote(v.owner))
	for _, given := range v.defaults {
		add("revoke what every new view is granted", "REVOKE ALL ON "+name+" FROM "+p.role(given[0]))
	}
	for _, grant := range v.grants {
		add("grant what was granted", "GRANT "+grant[0]+" ON "+name+" TO "+p.role(grant[1])+grant[2])
	}
	if v.comment != "" {
		add("comment on it", "COMMENT ON "+v.kind()+" "+name+" IS "+p.Literal(v.comment))
	}
	for _, c := range v.comments {
		add("comment on its column", "COMMENT ON COLUMN "+name+"."+p.Quote(c[0])+" IS "+p.Literal(c[1]))
	}
	return steps
}
