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
	lite.rekey(r)
	return nil
}

func (p *sqlitePlanner) rekey(r rekeying) {
	steps := []Step{p.checkUndo()}
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
	columns, key := r.columns[table], catalog.Key{}
	for _, k := range p.keys {
		if k.Column.Table == table {
			key = k
		}
	}
	create, was, again := p.definitions(key, columns[0], "leave out the table of the key (Except, --except)", func(sql, as string) (string, error) {
		return retyped(sql, namesOf(columns), key.Column.Name, as, p.tables[table.Name].strict)
	})
	copy := func(from, to string) string {
		names := p.tables[table.Name].columns
		values := joined(names, ", ", func(_ int, name string) string {
			i := slices.IndexFunc(columns, func(c catalog.Column) bool { return c.Name == name })
			if i < 0 {
				return "t." + p.Quote(name)
			}
			return fmt.Sprintf("(SELECT m.%s FROM %s AS m WHERE m.%s = t.%s)", to, r.mapOf(p.server, columns[i]), from, p.Quote(name))
		})
		return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s AS t", p.name(p.temporary(table)), p.List(names), values, p.name(table))
	}
	return p.replaced(key, table, create, was, again, copy("old", "new"), copy("new", "old"))
}
