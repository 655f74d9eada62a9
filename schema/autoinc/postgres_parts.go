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

// The parts of a table are the objects that --online has to create a second time, for a
// new column that is going to replace an old one.
type (
	postgresIndex struct {
		table      catalog.Name
		name       string
		unique     bool
		constraint string
		kind       string // kind of the constraint: p, u or empty
		columns    lists  // the names of the columns
		detail     string // when the constraint is checked, as SQL
		was        string // the SQL that creates the index
		parsed     bool   // whether it has expressions
		attached   bool   // whether it is part of an index of the partitioned table
		clustered  bool
		comment    string
		says       string // the comment on the constraint
		problems   string
		method     string // the definition for the new columns, starting with the method
	}

	postgresCheck struct {
		table      catalog.Name
		name       string
		valid      bool
		comment    string
		columns    lists
		was        string // the current definition
		definition string // the definition for the new columns
	}

	// What is remade is a privilege, or an object created by CREATE STATISTICS.
	remade struct {
		table     catalog.Name
		text, sql string
		columns   lists
	}
)

func (x *postgresIndex) dest() []any {
	return []any{&x.table.Schema, &x.table.Name, &x.name, &x.unique, &x.constraint, &x.kind, &x.columns, &x.detail, &x.was, &x.parsed, &x.attached, &x.clustered, &x.comment, &x.says, &x.problems}
}

func (r *remade) dest() []any {
	return []any{&r.table.Schema, &r.table.Name, &r.text, &r.sql, &r.columns}
}

func (k *postgresCheck) dest() []any {
	return []any{&k.table.Schema, &k.table.Name, &k.name, &k.valid, &k.comment, &k.columns, &k.was}
}

// readParts reads the indexes and checks of the columns to be widened.
func (p *postgresPlanner) readParts(ctx context.Context, conn *sql.Conn) error {
	err := database.ReadAll(ctx, conn,
		database.Into(&p.indexes, p.query("indexes"), (*postgresIndex).dest),
		database.Into(&p.checks, p.query("checks"), (*postgresCheck).dest),
	)
	if err != nil {
		return err
	}
	p.indexes = slices.DeleteFunc(p.indexes, func(x postgresIndex) bool { return !p.touches(x.table, x.columns) })
	p.checks = slices.DeleteFunc(p.checks, func(k postgresCheck) bool { return !p.touches(k.table, k.columns) })
	for _, table := range p.widened.tables {
		for _, member := range p.family(table) {
			if err := p.rehearse(ctx, conn, member); err != nil {
				return err
			}
		}
	}
	return nil
}

// touches reports whether any of the columns is replaced.
func (p *postgresPlanner) touches(table catalog.Name, columns lists) bool {
	return slices.ContainsFunc(p.widened.columns[p.root(table)], func(c catalog.Column) bool { return columns.has(c.Name) })
}

// partsOf returns those indexes and checks of a table that are created a second time.
func (p *postgresPlanner) partsOf(table catalog.Name) (indexes []*postgresIndex, checks []*postgresCheck) {
	for i := range p.indexes {
		if x := &p.indexes[i]; x.table == table {
			indexes = append(indexes, x)
		}
	}
	for i := range p.checks {
		if k := &p.checks[i]; k.table == table {
			checks = append(checks, k)
		}
	}
	return indexes, checks
}

// rehearse finds out the definitions of indexes and checks for the new columns. It
// creates an empty copy of the table, replaces the columns there, and asks the server
// for the definitions. The copy is temporary, and the transaction is rolled back. That
// way the server itself writes every expression, operator class and collation, and also
// reports if an expression makes no sense for bigint.
func (p *postgresPlanner) rehearse(ctx context.Context, conn *sql.Conn, table catalog.Name) error {
	indexes, checks := p.partsOf(table)
	parsed := len(checks) > 0 || slices.ContainsFunc(indexes, func(x *postgresIndex) bool { return x.parsed })
	if !parsed && (!p.options.Online || len(indexes) == 0) {
		return nil
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("autoinc: %w", err)
	}
	defer tx.Rollback()
	originals, err := p.copyTable(ctx, tx, table)
	if ctx.Err() != nil {
		return fmt.Errorf("autoinc: %w", ctx.Err())
	}
	if err != nil {
		p.refuse(p.widened.columns[p.root(table)][0], fmt.Sprintf("if an index or a check has no meaning for bigint, drop it, apply the phase %s, and make another; if a privilege is missing, plan as a user who may create temporary tables", p.phase),
			"the definitions of the indexes and checks of %s for the new columns cannot be found: %v", p.name(table), err)
		return nil
	}
	for _, x := range indexes {
		definition, err := database.One(ctx, tx, fmt.Sprintf("SELECT pg_get_indexdef('pg_temp.snowkey_like_%d'::regclass)", slices.Index(originals, x.name)), database.Text)
		if err != nil {
			return err
		}
		_, x.method, _ = strings.Cut(definition, " USING ")
	}
	for _, k := range checks {
		k.definition, err = database.One(ctx, tx, fmt.Sprintf("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '%s'::regclass AND conname = %s", copied, p.Literal(k.name)), database.Text)
		if err != nil {
			return err
		}
	}
	return nil
}

const copied = "pg_temp.snowkey_like" // the name of the copy

// copyTable creates the copy that rehearse needs. It returns the names of the table's
// indexes. The indexes of the copy are in the same order, and numbered.
func (p *postgresPlanner) copyTable(ctx context.Context, tx *sql.Tx, table catalog.Name) (originals []string, err error) {
	if _, err := tx.ExecContext(ctx, "CREATE TEMPORARY TABLE snowkey_like (LIKE "+p.name(table)+" INCLUDING INDEXES INCLUDING CONSTRAINTS)"); err != nil {
		return nil, err
	}
	of := func(relation string) ([]string, error) {
		return database.List(ctx, tx, "SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = "+p.Literal(relation)+"::regclass ORDER BY x.indexrelid", database.Text)
	}
	if originals, err = of(p.name(table)); err != nil {
		return nil, err
	}
	copies, err := of(copied)
	if err != nil {
		return nil, err
	}
	if len(copies) != len(originals) {
		return nil, fmt.Errorf("a copy of the table has %d indexes, and the table %d", len(copies), len(originals))
	}
	var statements []string
	for i, name := range copies {
		statements = append(statements, fmt.Sprintf("ALTER INDEX pg_temp.%s RENAME TO snowkey_like_%d", p.Quote(name), i))
	}
	columns := p.widened.columns[p.root(table)]
	statements = append(statements, "ALTER TABLE "+copied+" "+joined(columns, ", ", func(_ int, c catalog.Column) string {
		return "ALTER COLUMN " + p.Quote(c.Name) + " TYPE bigint USING NULL"
	}))
	for _, c := range columns {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO %s", copied, p.Quote(c.Name), p.Quote(p.fresh(c))))
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return nil, err
		}
	}
	return originals, nil
}

// An action is a statement, and what it is for.
type action struct{ text, sql string }

// remarks returns what belongs to an index beside its definition.
func (p *postgresPlanner) remarks(x *postgresIndex) (actions []action) {
	if x.comment != "" {
		actions = append(actions, action{"comment on it", p.ifThere(x.table, p.comment("INDEX "+p.name(catalog.Name{Schema: x.table.Schema, Name: x.name}), x.comment))})
	}
	if x.says != "" {
		actions = append(actions, action{"comment on its constraint", p.commentOnConstraint(x.table, x.constraint, x.says)})
	}
	if x.clustered {
		actions = append(actions, action{"let CLUSTER order the table by it again", p.alter(x.table) + "CLUSTER ON " + p.Quote(x.name)})
	}
	return actions
}

func (p *postgresPlanner) commentOnConstraint(table catalog.Name, name, text string) string {
	return p.ifThere(table, p.comment("CONSTRAINT "+p.Quote(name)+" ON "+p.name(table), text))
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
		indexes, checks := p.partsOf(member)
		for _, x := range indexes {
			if !x.parsed && !(p.options.Online && (x.attached || p.partitioned[member])) {
				continue
			}
			switch {
			case x.attached: // dropped along with the index it is attached to
			case x.kind != "":
				undo = append(undo, p.alter(member)+"DROP CONSTRAINT "+p.Quote(x.constraint))
			default:
				undo = append(undo, "DROP INDEX "+p.ifExists(member)+p.name(catalog.Name{Schema: member.Schema, Name: x.name}))
			}
			again = append(again, p.ifThere(member, x.was))
			for _, a := range p.remarks(x) {
				again = append(again, a.sql)
			}
		}
		for _, k := range checks {
			undo = append(undo, p.alter(member)+"DROP CONSTRAINT "+p.Quote(k.name))
			again = append(again, p.alter(member)+"ADD CONSTRAINT "+p.Quote(k.name)+" "+k.was)
			if k.comment != "" {
				again = append(again, p.commentOnConstraint(member, k.name, k.comment))
			}
		}
	}
	narrow := p.altered(p.widened.columns[table], func(c catalog.Column) string { return c.Type })
	return slices.Concat(undo, []string{narrow}, again)
}

// check adds checks on the new columns next to the old checks, which will be dropped
// together with the old columns.
func (p *postgresPlanner) check(table catalog.Name) {
	for _, member := range p.family(table) {
		_, checks := p.partsOf(member)
		for _, k := range checks {
			fresh := p.own(checkPrefix, k.name)
			p.transaction(p.phase, againstAll, table, nil).exec("add a check like "+p.Quote(k.name)+" of the new columns of "+p.name(member),
				fmt.Sprintf("%sADD CONSTRAINT %s %s NOT VALID", p.alter(member), fresh, k.definition), p.alter(member)+"DROP CONSTRAINT IF EXISTS "+fresh)
			if k.valid {
				p.validate(member, "check it on every row", []string{fresh})
			}
		}
	}
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

// index creates the indexes on the new columns. For a partitioned table, the partitions
// get their indexes first, and Postgres then attaches these to the index of the table.
// There's no way to turn an index of a partitioned table into a constraint, so
// constraints of such a table are left to the swap.
func (p *postgresPlanner) index(table catalog.Name) {
	for _, member := range p.family(table) {
		indexes, _ := p.partsOf(member)
		for _, x := range indexes {
			switch {
			case !p.partitioned[member]:
				p.indexAlone(x)
			case x.kind == "":
				p.transaction(p.phase, againstWriters, table, nil).exec("make an index like "+p.Quote(x.name)+", to which the indexes of the partitions are attached",
					p.ifThere(member, p.createIndex(x, "")), "DROP INDEX IF EXISTS "+p.name(p.freshIndex(x)))
			}
		}
	}
}

func (p *postgresPlanner) freshIndex(x *postgresIndex) catalog.Name {
	return catalog.Name{Schema: x.table.Schema, Name: database.Own("snowkey_index", x.name)}
}

func (p *postgresPlanner) createIndex(x *postgresIndex, how string) string {
	unique := ""
	if x.unique {
		unique = "UNIQUE "
	}
	return fmt.Sprintf("CREATE %sINDEX %s%s ON %s USING %s", unique, how, p.Quote(p.freshIndex(x).Name), p.name(x.table), x.method)
}

func (p *postgresPlanner) indexAlone(x *postgresIndex) {
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
// the old columns. It also adds the parts that could not be created in advance.
func (p *postgresPlanner) renameParts(tx transaction, table catalog.Name) {
	indexes, checks := p.partsOf(table)
	for _, x := range indexes {
		for _, a := range append([]action{p.takeName(x)}, p.remarks(x)...) {
			if x.attached && x.kind == "" {
				p.later(table, a.text, a.sql)
			} else {
				tx.exec(a.text, a.sql)
			}
		}
	}
	for _, k := range checks {
		tx.exec("give the check the name of the old", p.alter(table)+"RENAME CONSTRAINT "+p.own(checkPrefix, k.name)+" TO "+p.Quote(k.name))
		if k.comment != "" {
			tx.exec("comment on it", p.commentOnConstraint(table, k.name, k.comment))
		}
	}
	for _, r := range p.remade {
		if r.table == table && p.touches(table, r.columns) {
			tx.exec(r.text, p.ifThere(table, r.sql))
		}
	}
}

// takeName gives an index the name of the old one, with its constraint.
func (p *postgresPlanner) takeName(x *postgresIndex) action {
	fresh := p.freshIndex(x)
	add := p.alter(x.table) + "ADD CONSTRAINT " + p.Quote(x.constraint)
	using := " USING INDEX " + p.Quote(fresh.Name) + x.detail
	switch {
	case x.kind != "" && p.partitioned[x.table]:
		return action{"add the constraint, which the partitions have already", p.ifThere(x.table, x.was)}
	case x.kind == "p":
		return action{"make the primary key of its index", add + " PRIMARY KEY" + using}
	case x.kind == "u":
		return action{"make the constraint of its index", add + " UNIQUE" + using}
	}
	return action{"give the index the name of the old", "ALTER INDEX " + p.ifExists(x.table) + p.name(fresh) + " RENAME TO " + p.Quote(x.name)}
}
