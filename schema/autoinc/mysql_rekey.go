package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/ddl"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
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
	p.mapLate(r)
	p.note(Rekey, "There is no transaction around these statements. Once this phase has begun, complete it or undo it.")
	for _, c := range r.all() {
		s := p.checkMapped(c, r)
		s.Unit = p.begin() // so that it isn't repeated when the values are new
		p.add(Rekey, s)
	}
	for _, k := range p.keys {
		p.add(Rekey, Step{
			Text: "check that no new key of " + p.name(k.Column.Table) + " is an old one", Run: Check, Locks: "nothing",
			SQL: fmt.Sprintf("SELECT a.old FROM %s AS a JOIN %[1]s AS b ON b.new = CAST(a.old AS SIGNED) LIMIT 1", p.name(mapName(k.Column.Table))), Remedy: "undo the plan, and use another layout or worker number",
		})
	}
	p.add(Rekey, p.checkUndo(r))
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
	room                string // the type in between
}

// rowNumber is a column that a table has while its values are replaced, unless it has an
// AUTO_INCREMENT that stays as it is.
const rowNumber = "snowkey_row"

// rekeyTable replaces the values of a table's columns, in ranges of its rows.
func (p *mysqlPlanner) rekeyTable(table catalog.Name, r rekeying) {
	columns, name, key := r.columns[table], p.name(table), r.keys[table]
	for _, t := range p.report.Triggers {
		if t.Table == table && strings.Contains(t.When, "UPDATE") {
			p.refuse(columns[0], "drop it, apply the phase rekey, and create it again", "the trigger %s would fire for each row", p.Quote(t.Name))
		}
	}
	row, added := rowNumber, rowNumber
	addRow, dropRow := []string{"ADD COLUMN snowkey_row BIGINT NOT NULL AUTO_INCREMENT", "ADD KEY (snowkey_row)"}, []string{"DROP COLUMN snowkey_row"}
	for _, c := range p.columnsWith(table, "AUTO_INCREMENT") {
		if !slices.Contains(namesOf(columns), c) {
			row, added, addRow, dropRow = c, "", nil, nil
		}
	}
	mark := added // a column that is there once there is room
	more, less, kept := slices.Clone(addRow), slices.Clone(dropRow), r.kept(table)
	if kept != "" {
		more = append(more, "ADD COLUMN "+p.typed(key.Column, kept)+" NULL", "ADD UNIQUE KEY ("+p.Quote(kept)+")")
		less, mark = append(less, "DROP COLUMN "+p.Quote(kept)), cmp.Or(mark, kept)
	}
	var all []retypedColumn
	var joins, back, counting string
	var sets, restores, old []string
	for i, c := range columns {
		at := "t." + p.Quote(c.Name)
		join, value := r.join(p.server, c, i, "old", "new", at)
		joins, sets = joins+join, append(sets, at+" = "+value)
		join, value = r.join(p.server, c, i, "new", "old", at)
		back, restores = back+join, append(restores, at+" = "+value)
		names, conditions := r.maps(p.server, c, "t", "old")
		for i := range names {
			old = append(old, fmt.Sprintf("NOT EXISTS (SELECT 1 FROM %s AS t JOIN %s AS m ON m%s)", name, names[i], conditions[i]))
		}
		all = append(all, p.retyped(c))
		if !same(key.Column, c) {
			continue
		}
		if kept != "" {
			sets = append(sets, fmt.Sprintf("t.%s = COALESCE(m%d_0.old, t.%[1]s)", p.Quote(kept), i))
		}
		if key.Mechanism == catalog.AutoIncrement {
			counting = ", AUTO_INCREMENT = " + counted + " 1"
			p.add(Rekey, p.keepCounter(c))
		}
	}
	for _, c := range p.columnsWith(table, "ON") { // which the server sets when a row is updated
		keep := "t." + p.Quote(c) + " = t." + p.Quote(c)
		sets, restores = append(sets, keep), append(restores, keep)
	}
	// modify changes types, and adds or drops the column mark, of which there are n then.
	modify := func(text string, from, to func(retypedColumn) string, more, less []string, mark string, n int, after string) {
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
		if actions, undo = append(actions, more...), append(undo, less...); len(actions) == 0 {
			return
		}
		if mark == "" {
			n = len(done)
		} else {
			done = []string{"COLUMN_NAME = " + p.Literal(mark)}
		}
		p.add(Rekey, Step{
			Text: text, SQL: "ALTER TABLE " + name + " " + strings.Join(actions, ", ") + copying,
			Done: fmt.Sprintf("SELECT COUNT(*) = %d FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND (%s)",
				n, p.Literal(table.Schema), p.Literal(table.Name), strings.Join(done, " OR ")),
			Locks: whileCopied(name), Rewrites: "copies the whole table and its indexes", Copies: name,
			Undo: []string{"ALTER TABLE " + name + " " + strings.Join(undo, ", ") + after},
		})
	}
	names := p.List(namesOf(columns)) + " of " + name
	between := func(r retypedColumn) string { return r.between }
	modify("make room for the new values of "+names, func(r retypedColumn) string { return r.was }, between, more, less, mark, 1, counting)
	update := func(joins string, sets []string) string {
		return fmt.Sprintf("UPDATE %s AS t%s SET %s WHERE t.%s > @snowkey_after AND t.%[4]s <= @snowkey_last", name, joins, strings.Join(sets, ", "), p.Quote(row))
	}
	p.add(Rekey, Step{
		Text: "replace " + names, Run: ranging, SQL: update(joins, sets), Undo: []string{update(back, restores)},
		Size: p.lastOf(name, p.Quote(row)),
		Done: "SELECT " + strings.Join(old, " AND "),
		// Text that has its old value again is no number, which a strict mode refuses.
		Before: []string{"SET sql_mode = " + p.Literal(strings.TrimPrefix(mysqlMode, "STRICT_ALL_TABLES,"))}, After: []string{"SET sql_mode = " + p.Literal(mysqlMode)},
		Locks: "the rows of a batch", Rewrites: "all rows and their index entries", Copies: name,
	})
	modify("make "+names+" bigint", between, func(r retypedColumn) string { return r.final }, dropRow, addRow, added, 0, "")
}

// ranging is how we run a step that replaces the values of rows, a batch at a time. A batch may
// be repeated, because no new key is an old one.
const ranging = "ranges"

// lastOf returns the query for the last row of a batch, and of a table, by a column.
func (p *mysqlPlanner) lastOf(table, column string) string {
	return fmt.Sprintf("SELECT COALESCE(MAX(n), -9223372036854775808), COALESCE((SELECT MAX(%s) FROM %s), 0) FROM (SELECT %[1]s AS n FROM %[2]s WHERE %[1]s > ? ORDER BY %[1]s LIMIT ?) AS r", column, table)
}

// ranges runs the SQL of a step, or what reverses it, for all rows. Its Size is a query for
// the number of the last row in a batch, and of the table. Rows that come later are left to
// triggers. A step that has nothing to reverse continues where it was, because triggers also
// keep its rows equal.
func (a *applier) ranges(ctx context.Context, s Step, sql string, before entry) error {
	type batch struct{ last, total int64 }
	after, end, rows := int64(math.MinInt64), int64(math.MinInt64), a.options.BatchSize
	if len(s.Undo) == 0 {
		rows = max(rows/10, 1) // for which writers wait
		if _, err := fmt.Sscanf(before.detail, "%d of %d", &after, &end); err != nil {
			after, end = math.MinInt64, math.MinInt64
		}
	}
	for after == math.MinInt64 || after < end {
		if err := a.obey(ctx, false); err != nil {
			return err
		}
		b, err := database.One(ctx, a.conn, s.Size, func(b *batch) []any { return []any{&b.last, &b.total} }, after, rows)
		if err != nil || b.last == math.MinInt64 {
			return err
		}
		if after == math.MinInt64 {
			end = b.total
		}
		err = a.patiently(ctx, func() error {
			if _, err := a.conn.ExecContext(ctx, "SET @snowkey_after = ?, @snowkey_last = ?", after, b.last); err != nil {
				return err
			}
			_, err := a.conn.ExecContext(ctx, sql)
			return err
		})
		if err != nil {
			return err
		}
		after = b.last
		a.report(Progress{Step: s, Event: Filled, Done: min(after, end), Total: end})
		if err := a.record(ctx, s, entry{started, fmt.Sprintf("%d of %d", after, end)}); err != nil {
			return err
		}
	}
	return nil
}

// retyped returns the definitions of a column. It loses its default at once, because MySQL adds
// no column beside a default such as (uuid()).
func (p *mysqlPlanner) retyped(c catalog.Column) (r retypedColumn) {
	r.was, _ = p.modified(c)
	null := " NULL"
	if !p.columns[exactPlace(c)].nullable {
		null = " NOT NULL"
	}
	r.final = p.Quote(c.Name) + " bigint" + null
	for _, t := range ddl.Tokens(r.was, true) {
		if t.Is("COMMENT") {
			r.final += " " + r.was[t.Start:]
			break
		}
	}
	r.room, r.between = c.Type, r.final
	switch digits, _ := ddl.ParseType(c.Type).Digits(); {
	case c.Bits > 0:
		return r
	case strings.Contains(c.Type, "binary"):
		r.room = "varbinary(20)"
	case digits > 0 && digits < 20:
		r.room = "varchar(20)"
	}
	r.between = strings.Replace(p.typed(c, c.Name), " "+c.Type, " "+r.room, 1) + null
	return r
}

// columnsWith returns the columns of a table that have a word in their definition.
func (p *mysqlPlanner) columnsWith(table catalog.Name, word string) (names []string) {
	for _, c := range p.all {
		for _, line := range p.definitions[table] {
			rest, ok := strings.CutPrefix(line, "  "+p.Quote(c.Name)+" ")
			if ok && c.Table == table && slices.ContainsFunc(ddl.Tokens(rest, true), func(t ddl.Token) bool { return t.Is(word) }) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// typed returns the start of a definition, with the type and the collation of a column.
func (p *mysqlPlanner) typed(c catalog.Column, name string) string {
	was, _ := p.modified(c)
	for _, t := range ddl.Tokens(was, true)[1:] {
		if t.Is("NOT", "NULL", "DEFAULT", "AUTO_INCREMENT", "COMMENT") {
			was = was[:t.Start]
			break
		}
	}
	return p.Quote(name) + strings.TrimSuffix(strings.TrimPrefix(was, p.Quote(c.Name)), " ")
}
