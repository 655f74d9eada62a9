package autoinc

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// The parts of a table are the objects that are lost with a column. With --online, they are
// created a second time for the new column that is going to replace an old one.
type postgresPart struct {
	table      catalog.Name
	name       string
	kind       string // i for an index; p, u or x for one with a constraint; c for a check; t for a trigger; o for what has to be done again only
	constraint string // its name
	unique     string // UNIQUE, if it is a unique index
	columns    []string
	detail     string // when the constraint is checked, as SQL
	drop       string // the SQL that drops or disables it
	again      []Step // what creates it again as it is
	parsed     bool   // whether it has expressions
	attached   bool   // whether it is part of an index of the partitioned table
	problems   string
	definition string // without its name; online, the one for the new columns
}

const indexKinds = "ipux"

// touches reports whether any of the part's columns is replaced.
func (p *postgresPlanner) touches(x postgresPart) bool {
	return slices.ContainsFunc(p.widened.columns[p.root(x.table)], func(c catalog.Column) bool { return slices.Contains(x.columns, c.Name) })
}

// partsOf returns the parts of a table that have one of the kinds.
func (p *postgresPlanner) partsOf(table catalog.Name, kinds string) (parts []*postgresPart) {
	for i := range p.parts {
		if x := &p.parts[i]; x.table == table && strings.Contains(kinds, x.kind) {
			parts = append(parts, x)
		}
	}
	return parts
}

// chooseParts leaves only triggers and the parts of the columns that are replaced, and finds out
// their definitions for the new columns.
func (p *postgresPlanner) chooseParts(ctx context.Context, conn *sql.Conn) error {
	p.parts = slices.DeleteFunc(p.parts, func(x postgresPart) bool { return x.kind != "t" && !p.touches(x) })
	for _, table := range p.widened.tables {
		for _, member := range p.family(table) {
			parts := p.partsOf(member, indexKinds+"c")
			if len(parts) == 0 || !p.options.Online && !slices.ContainsFunc(parts, func(x *postgresPart) bool { return x.parsed }) {
				continue
			}
			err := p.rehearse(ctx, conn, member, parts)
			if ctx.Err() != nil {
				return fmt.Errorf("autoinc: %w", ctx.Err())
			}
			if err != nil {
				p.refuse(p.widened.columns[table][0], fmt.Sprintf("if an index or a check has no meaning for bigint, drop it, apply the phase %s, and make another; if a privilege is missing, plan as a user who may create temporary tables", p.phase),
					"the definitions of the indexes and checks of %s for the new columns cannot be found: %v", p.name(member), err)
			}
		}
	}
	return nil
}

// rehearse creates an empty copy of a table, with the columns of 64 bits and the indexes and
// checks, gives the columns their new names there, and asks the server for the definitions. The
// copy is temporary, and the transaction is rolled back. That way the server itself writes every
// expression, operator class and collation, and also reports if an expression makes no sense
// for bigint.
func (p *postgresPlanner) rehearse(ctx context.Context, conn *sql.Conn, table catalog.Name, parts []*postgresPart) error {
	const copied = "pg_temp.snowkey_like"
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	columns := p.widened.columns[p.root(table)]
	statements := []string{
		"CREATE TEMPORARY TABLE snowkey_like (LIKE " + p.name(table) + ")",
		"ALTER TABLE " + copied + " " + database.Joined(columns, ", ", func(_ int, c catalog.Column) string {
			return "ALTER COLUMN " + p.Quote(c.Name) + " TYPE bigint USING NULL"
		}),
	}
	for _, x := range parts {
		if x.kind == "c" {
			statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", copied, p.Quote(x.name), x.definition))
		} else {
			statements = append(statements, fmt.Sprintf("CREATE INDEX %s ON %s USING %s", p.Quote(x.name), copied, x.definition))
		}
	}
	for _, c := range columns {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO %s", copied, p.Quote(c.Name), p.Quote(p.fresh(c))))
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	for _, x := range parts {
		query := fmt.Sprintf("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '%s'::regclass AND conname = %s", copied, p.Literal(x.name))
		if x.kind != "c" {
			query = fmt.Sprintf("SELECT substring(pg_get_indexdef(%s::regclass) FROM ' USING (.*)$')", p.Literal("pg_temp."+p.Quote(x.name)))
		}
		if x.definition, err = database.One(ctx, tx, query, database.Text); err != nil {
			return err
		}
	}
	return nil
}

// narrowed returns the SQL that makes the columns of a table narrow again. When Postgres
// changes a type, it parses each expression again, including the casts that were added when
// the column became bigint. An index with these casts would no longer be used by queries
// without them. That's why we drop everything that has expressions first, and create it
// again as it was. With --online we do the same for indexes of partitions, since
// Postgres would otherwise rename them.
func (p *postgresPlanner) narrowed(table catalog.Name) (undo []string) {
	var again []string
	for _, member := range p.family(table) {
		for _, x := range p.partsOf(member, indexKinds+"c") {
			if !x.parsed && !(p.options.Online && (x.attached || p.partitioned[member])) {
				continue
			}
			if !x.attached { // otherwise it is dropped along with the index it is attached to
				undo = append(undo, p.ifThere(member, x.drop))
			}
			for _, s := range x.again {
				again = append(again, p.ifThere(member, s.SQL))
			}
		}
	}
	narrow := p.altered(p.widened.columns[table], func(c catalog.Column) string { return c.Type })
	return slices.Concat(undo, []string{narrow}, again)
}

// validate adds steps that check constraints on every row of a table, one partition at
// a time.
func (p *postgresPlanner) validate(table catalog.Name, text string, constraints []string) {
	for _, member := range p.family(table) {
		p.add(p.phase, Step{
			Text: text + " of " + p.name(member), Unit: p.begin(), Before: unhurried,
			SQL:   p.alter(member) + "VALIDATE CONSTRAINT " + strings.Join(constraints, ", VALIDATE CONSTRAINT "),
			Locks: "SHARE UPDATE EXCLUSIVE: readers and writers go on; it reads the table once",
		})
	}
}

// makeParts creates the indexes of the new columns, and checks on them next to the old checks,
// which will be dropped together with the old columns. For a partitioned table, the partitions
// get their indexes first, and Postgres then attaches these to the index of the table.
// There's no way to turn an index of a partitioned table into a constraint, so
// constraints of such a table are left to the swap.
func (p *postgresPlanner) makeParts(table catalog.Name) {
	members := p.family(table)
	for _, member := range members { // a partition that is detached later has its checks by then
		for _, x := range p.partsOf(member, "c") {
			fresh := p.own(checkPrefix, x.name)
			p.transaction(p.phase, againstAll, nil, table).exec("add a check like "+p.Quote(x.name)+" of the new columns of "+p.name(member),
				fmt.Sprintf("%sADD CONSTRAINT %s %s NOT VALID", p.alter(member), fresh, x.definition), p.alter(member)+"DROP CONSTRAINT IF EXISTS "+fresh)
			if x.detail == "" {
				p.validate(member, "check it on every row", []string{fresh})
			}
		}
	}
	for _, member := range members {
		for _, x := range p.partsOf(member, indexKinds) {
			switch {
			case !p.partitioned[member]:
				p.indexAlone(x)
			case x.kind == "i":
				p.transaction(p.phase, againstWriters, nil, table).exec("make an index like "+p.Quote(x.name)+", to which the indexes of the partitions are attached",
					p.ifThere(member, p.createIndex(x, "")), "DROP INDEX IF EXISTS "+p.name(p.freshIndex(x)))
			}
		}
	}
}

func (p *postgresPlanner) freshIndex(x *postgresPart) catalog.Name {
	return catalog.Name{Schema: x.table.Schema, Name: database.Own("snowkey_index", x.name)}
}

func (p *postgresPlanner) createIndex(x *postgresPart, how string) string {
	return fmt.Sprintf("CREATE %sINDEX %s%s ON %s USING %s", x.unique, how, p.Quote(p.freshIndex(x).Name), p.name(x.table), x.definition)
}

func (p *postgresPlanner) indexAlone(x *postgresPart) {
	fresh := p.freshIndex(x)
	drop := "DROP INDEX CONCURRENTLY IF EXISTS " + p.name(fresh)
	p.add(p.phase, Step{
		Text: "make an index like " + p.Quote(x.name) + " for the new columns of " + p.name(x.table),
		SQL:  p.createIndex(x, "CONCURRENTLY "),
		Done: fmt.Sprintf("SELECT count(*)%s FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_namespace n ON n.oid = i.relnamespace WHERE n.nspname = %s AND i.relname = %s AND x.indisvalid",
			p.orGone(x.table), p.Literal(fresh.Schema), p.Literal(fresh.Name)),
		Retry:  drop, // a failed attempt leaves an invalid index behind
		Before: unhurried,
		Locks:  "SHARE UPDATE EXCLUSIVE: readers and writers go on; it waits until older transactions have ended",
		Undo:   []string{drop},
	})
}

// renameParts gives the new parts the names of the old ones, which are gone along with
// the old columns. It also adds the parts that could not be created in advance. All that
// concerns a partition is one step, so that a table with many partitions is not locked for long.
func (p *postgresPlanner) renameParts(tx transaction, table catalog.Name) {
	var steps []Step
	for _, x := range p.partsOf(table, indexKinds+"co") {
		made := x.again // which is all of a constraint that a partitioned table's partitions have already
		if x.kind != "o" && !(p.partitioned[table] && x.kind != "i" && x.kind != "c") {
			made = append([]Step{p.takeName(x)}, made[1:]...)
		}
		steps = append(steps, made...)
	}
	if p.root(table) != table && len(steps) > 0 {
		all := strings.Join(statements(steps), "; ")
		steps = []Step{{Text: "let its partition " + p.name(table) + " have the names and all that the old one has", SQL: p.ifThere(table, all)}}
	}
	tx.add(steps...)
}

// takeName gives an index or a check the name of the old one, with its constraint.
func (p *postgresPlanner) takeName(x *postgresPart) Step {
	fresh, alter := p.freshIndex(x), "ALTER TABLE "+p.name(x.table)+" "
	add, using := alter+"ADD CONSTRAINT "+p.Quote(x.constraint), " USING INDEX "+p.Quote(fresh.Name)+x.detail
	switch x.kind {
	case "p":
		return Step{Text: "make the primary key of its index", SQL: add + " PRIMARY KEY" + using}
	case "u":
		return Step{Text: "make the constraint of its index", SQL: add + " UNIQUE" + using}
	case "c":
		return Step{Text: "give the check the name of the old", SQL: alter + "RENAME CONSTRAINT " + p.own(checkPrefix, x.name) + " TO " + p.Quote(x.name)}
	}
	return Step{Text: "give the index the name of the old", SQL: "ALTER INDEX " + p.name(fresh) + " RENAME TO " + p.Quote(x.name)}
}
