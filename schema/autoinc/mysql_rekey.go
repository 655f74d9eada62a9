package autoinc

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/catalog"
)

// rekeyMySQL plans to drop the foreign keys, to replace the values in place, and to add the
// foreign keys again. Text and bytes take the digits of the new keys first.
func rekeyMySQL(ctx context.Context, conn *sql.Conn, p *planner) error {
	my := mysqlPlanner{planner: p, definitions: make(map[catalog.Name][]string)}
	if err := my.read(ctx, conn); err != nil {
		return err
	}
	if err := my.refusePrivileges(ctx, conn); err != nil {
		return err
	}
	r, err := p.rekeyPlan(ctx, conn, func(table catalog.Name) catalog.Name { return table })
	if err != nil {
		return err
	}
	p.note(Rekey, "There is no transaction around these statements. Once this phase has begun, complete it or undo it.")
	p.add(Rekey, p.checkUndo())
	for _, c := range r.all() {
		s := p.checkMapped(c, r)
		s.Unit = p.begin() // so that it isn't repeated when the values are new
		p.add(Rekey, s)
	}
	for _, k := range p.keys {
		if of := p.name(mapName(k.Column.Table)); k.Column.Bits > 0 {
			p.add(Rekey, Step{
				Text: "check that no new key of " + p.name(k.Column.Table) + " is an old one", Run: Check, Locks: "nothing",
				SQL: fmt.Sprintf("SELECT a.new FROM %s AS a JOIN %s AS b ON b.old = a.new LIMIT 1", of, of), Remedy: "undo the plan, and use another layout or worker number",
			})
		}
	}
	children, byChild := groupByChild(r.references)
	for _, child := range children {
		my.dropReferences(Rekey, child, byChild[child])
	}
	for _, table := range r.tables {
		my.rekeyTable(table, r)
	}
	for _, child := range children {
		my.addReferences(Rekey, child, byChild[child])
	}
	return nil
}

// A retypedColumn has the definitions of a column before, while its values are replaced, and
// afterwards.
type retypedColumn struct {
	was, between, final string
	room                string // the type in between if it is another one
}

// rekeyTable replaces the values of a table's columns.
func (p *mysqlPlanner) rekeyTable(table catalog.Name, r rekeying) {
	columns, name := r.columns[table], p.name(table)
	for _, t := range p.report.Triggers {
		if t.Table == table && strings.Contains(t.When, "UPDATE") {
			p.refuse(columns[0], "drop it, apply the phase rekey, and create it again", "the trigger %s would fire for each row", p.Quote(t.Name))
		}
	}
	var all []retypedColumn
	var joins, back, sets, restores []string
	counting := ""
	for i, c := range columns {
		k, at, of := r.keys[exactPlace(c)], "t."+p.Quote(c.Name), r.mapOf(p.server, c)
		all = append(all, p.retyped(c))
		joins = append(joins, fmt.Sprintf("LEFT JOIN %s AS m%d ON m%[2]d.old = %[3]s", of, i, at))
		back = append(back, fmt.Sprintf("LEFT JOIN %s AS m%d ON m%[2]d.new = CAST(%[3]s AS SIGNED)", of, i, at)) // or text would be compared as a float
		sets, restores = append(sets, fmt.Sprintf("%s = m%d.new", at, i)), append(restores, fmt.Sprintf("%s = m%d.old", at, i))
		if k.Mechanism == catalog.AutoIncrement && same(k.Column, c) {
			counting = ", AUTO_INCREMENT = " + counted + " 1"
			p.add(Rekey, p.keepCounter(c))
		}
	}
	for _, c := range p.updatedByServer(table) {
		keep := "t." + p.Quote(c) + " = t." + p.Quote(c)
		sets, restores = append(sets, keep), append(restores, keep)
	}
	modify := func(text string, from, to func(retypedColumn) string, after string) {
		var actions, undo, done []string
		for i, r := range all {
			if from(r) == to(r) {
				continue
			}
			is := "DATA_TYPE = 'bigint' AND COLUMN_TYPE NOT LIKE '%unsigned' AND EXTRA NOT LIKE '%auto_increment%'"
			if to(r) != r.final {
				is = "COLUMN_TYPE = " + p.Literal(r.room)
			}
			actions, undo = append(actions, "MODIFY "+to(r)), append(undo, "MODIFY "+from(r))
			done = append(done, "COLUMN_NAME = "+p.Literal(columns[i].Name)+" AND "+is)
		}
		if len(actions) == 0 {
			return
		}
		p.add(Rekey, Step{
			Text: text, SQL: "ALTER TABLE " + name + " " + strings.Join(actions, ", ") + copying,
			Done: fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND (%s)",
				len(done), p.Literal(table.Schema), p.Literal(table.Name), strings.Join(done, " OR ")),
			Locks: "writers of " + name + " wait until it is copied; readers go on", Rewrites: "copies the whole table and its indexes", Copies: name,
			Undo: []string{"ALTER TABLE " + name + " " + strings.Join(undo, ", ") + after},
		})
	}
	names := p.List(namesOf(columns)) + " of " + name
	between := func(r retypedColumn) string { return r.between }
	modify("make room for the new values of "+names, func(r retypedColumn) string { return r.was }, between, counting)
	p.add(Rekey, Step{
		Text: "replace " + names, Unit: p.begin(),
		SQL:   "UPDATE " + name + " AS t " + strings.Join(joins, " ") + " SET " + strings.Join(sets, ", "),
		Locks: "all rows of " + name, Rewrites: "all rows and their index entries", Copies: name,
		Undo: []string{"UPDATE " + name + " AS t " + strings.Join(back, " ") + " SET " + strings.Join(restores, ", ")},
	})
	modify("make "+names+" bigint", between, func(r retypedColumn) string { return r.final }, "")
}

// retyped returns the definitions of a column. It loses its default.
func (p *mysqlPlanner) retyped(c catalog.Column) (r retypedColumn) {
	r.was, _ = p.modified(c)
	r.final = p.Quote(c.Name) + " bigint NULL"
	if !p.columns[exactPlace(c)].nullable {
		r.final = p.Quote(c.Name) + " bigint NOT NULL"
	}
	for _, t := range ddl.Tokens(r.was, true) {
		if t.Is("COMMENT") {
			r.final += " " + r.was[t.Start:]
			break
		}
	}
	digits, _ := ddl.ParseType(c.Type).Digits()
	switch {
	case c.Bits > 0:
		r.between = r.final
	case strings.Contains(c.Type, "binary"):
		r.room = "varbinary(20)"
	case digits > 0 && digits < 20:
		r.room = "varchar(20)"
	default:
		r.between = r.was
	}
	if r.room != "" {
		r.between = strings.Replace(r.was, " "+c.Type, " "+r.room, 1)
	}
	return r
}

// updatedByServer returns the columns that the server sets when a row is updated.
func (p *mysqlPlanner) updatedByServer(table catalog.Name) (names []string) {
	for _, c := range p.all {
		for _, line := range p.definitions[table] {
			rest, ok := strings.CutPrefix(line, "  "+p.Quote(c.Name)+" ")
			words := ddl.Tokens(rest, true)
			if ok && c.Table == table && slices.ContainsFunc(words, func(t ddl.Token) bool { return t.Is("ON") }) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}
