package autoinc

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
)

// rekeySQLite plans one transaction, in which each table is replaced by a copy with new keys.
func rekeySQLite(ctx context.Context, conn *sql.Conn, p *planner) error {
	lite, err := newSQLitePlanner(ctx, conn, p)
	if err != nil || lite == nil {
		return err
	}
	r, err := p.rekeyPlan(ctx, conn, func(table catalog.Name) catalog.Name { return table })
	if err != nil {
		return err
	}
	p.mapLate(r)
	lite.rekey(r)
	return nil
}

func (p *sqlitePlanner) rekey(r rekeying) {
	steps := []Step{p.checkUndo(r)}
	steps[0].Before = withoutForeignKeys
	for _, c := range r.all() {
		steps = append(steps, p.checkMapped(c, r))
	}
	var broken []string
	for _, table := range r.tables {
		steps = append(steps, p.rekeyTable(table, r)...)
		broken = append(broken, p.brokenReferences(table))
	}
	steps = append(steps, Step{Text: "check that no foreign key is broken", Run: Check, SQL: strings.Join(broken, "\nUNION ALL "), After: restoreForeignKeys})
	unit := p.begin()
	for _, s := range steps {
		s.Unit, s.Locks = unit, allWriters
		p.add(Rekey, s)
	}
}

// rekeyTable replaces a table.
func (p *sqlitePlanner) rekeyTable(table catalog.Name, r rekeying) []Step {
	columns, key, kept := r.columns[table], r.keys[table], r.kept(table)
	create, was, again := p.definitions(key, columns[0], "leave out the table of the key (Except, --except)", func(sql string) (string, error) {
		if kept != "" {
			sql = withColumn(sql, p.Quote(kept)+" "+key.Column.Type+" UNIQUE")
		}
		return retyped(sql, namesOf(columns), key.Column.Name, p.tables[table.Name].strict)
	})
	copy := func(from, to string) string {
		joins := ""
		names := p.tables[table.Name].columns
		values := joined(names, ", ", func(_ int, name string) string {
			i := slices.IndexFunc(columns, func(c catalog.Column) bool { return c.Name == name })
			if i < 0 {
				return "t." + p.Quote(name)
			}
			join, value := r.join(p.server, columns[i], i, from, to, "NULL")
			joins += join
			return value
		})
		list := p.List(names)
		if kept != "" && to == "new" {
			list, values = list+", "+p.Quote(kept), values+", t."+p.Quote(key.Column.Name)
		}
		return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s AS t%s", p.name(table), list, values, p.name(p.aside(table)), joins)
	}
	return p.replaced(table, create, was, again, copy("old", "new"), copy("new", "old"))
}
