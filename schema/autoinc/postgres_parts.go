package autoinc

import (
	"context"
	"database/sql"
	_ "embed" // for the query
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

//go:embed postgres_indexes.sql
var postgresIndexes string

const (
	postgresChecks = `SELECT n.nspname, c.relname, k.conname, k.convalidated, coalesce(obj_description(k.oid, 'pg_constraint'), ''),
	coalesce((SELECT json_agg(json_build_array(a.attname)) FROM pg_attribute a WHERE a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey))::text, '[]'), pg_get_constraintdef(k.oid)
FROM pg_constraint k
JOIN pg_class c ON c.oid = k.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'c' AND k.coninhcount = 0
ORDER BY n.nspname, c.relname, k.conname`

	// The server lists the columns by their position in the table, which changes when a wide
	// column replaces a narrow one. We sort them by name instead, so that the definition stays
	// the same.
	postgresStatistics = `SELECT n.nspname, c.relname, coalesce(replace(pg_get_statisticsobjdef(s.oid), ' ON ' || k.by_place, ' ON ' || k.by_name), pg_get_statisticsobjdef(s.oid)),
	coalesce((SELECT json_agg(json_build_array(a.attname)) FROM pg_attribute a WHERE a.attrelid = s.stxrelid AND a.attnum > 0 AND (
		a.attnum = ANY (s.stxkeys::int2[]) OR EXISTS (
			SELECT FROM pg_depend d WHERE d.classid = 'pg_statistic_ext'::regclass AND d.objid = s.oid AND d.refobjid = s.stxrelid AND d.refobjsubid = a.attnum)))::text, '[]')
FROM pg_statistic_ext s
JOIN pg_class c ON c.oid = s.stxrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum), string_agg(quote_ident(a.attname), ', ' ORDER BY a.attname)
	FROM pg_attribute a WHERE a.attrelid = s.stxrelid AND a.attnum = ANY (s.stxkeys::int2[])) k (by_place, by_name)
ORDER BY s.stxname`

	postgresGrants = `SELECT n.nspname, c.relname, a.attname, p.privilege_type, coalesce(r.rolname, ''), CASE WHEN p.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL aclexplode(a.attacl) AS p
LEFT JOIN pg_roles r ON r.oid = p.grantee
WHERE a.attnum > 0 AND NOT a.attisdropped
ORDER BY 1, 2, 3, 4, 5`
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

	// A postgresStatistic is an object created by CREATE STATISTICS.
	postgresStatistic struct {
		table      catalog.Name
		definition string
		columns    lists
	}

	columnGrant struct {
		catalog.Column
		privilege, role, option string
	}
)

func (l lists) has(name string) bool {
	return slices.ContainsFunc(l, func(row []string) bool { return row[0] == name })
}

// readParts reads the indexes and checks of the columns to be widened.
func (p *postgresPlanner) readParts(ctx context.Context, conn *sql.Conn) error {
	tables, columns := p.narrow()
	p.widened = columns
	indexes, err := database.List(ctx, conn, postgresIndexes, func(x *postgresIndex) []any {
		return []any{&x.table.Schema, &x.table.Name, &x.name, &x.unique, &x.constraint, &x.kind, &x.columns, &x.detail, &x.was, &x.parsed, &x.attached, &x.clustered, &x.comment, &x.says, &x.problems}
	})
	if err != nil {
		return err
	}
	for _, x := range indexes {
		if p.touches(x.table, x.columns) {
			p.indexes = append(p.indexes, x)
		}
	}
	checks, err := database.List(ctx, conn, postgresChecks, func(k *postgresCheck) []any {
		return []any{&k.table.Schema, &k.table.Name, &k.name, &k.valid, &k.comment, &k.columns, &k.was}
	})
	if err != nil {
		return err
	}
	for _, k := range checks {
		if p.touches(k.table, k.columns) {
			p.checks = append(p.checks, k)
		}
	}
	for _, table := range tables {
		for _, member := range p.family(table) {
			if err := p.rehearse(ctx, conn, member); err != nil {
				return err
			}
		}
	}
	return nil
}

// readOnlineParts reads the remaining objects that --online has to create a second
// time.
func (o *onlinePlanner) readOnlineParts(ctx context.Context, conn *sql.Conn) error {
	statistics, err := database.List(ctx, conn, postgresStatistics, func(s *postgresStatistic) []any {
		return []any{&s.table.Schema, &s.table.Name, &s.definition, &s.columns}
	})
	if err != nil {
		return err
	}
	for _, s := range statistics {
		if o.touches(s.table, s.columns) {
			o.statistics = append(o.statistics, s)
		}
	}
	o.grants, err = database.List(ctx, conn, postgresGrants, func(g *columnGrant) []any {
		return append(path(&g.Column), &g.privilege, &g.role, &g.option)
	})
	if err != nil {
		return err
	}
	return nil
}

// narrowed surrounds the SQL that makes columns narrow again. When Postgres changes a
// type, it parses each expression again, including the casts that were added when the
// column became bigint. An index with these casts would no longer be used by queries
// without them. That's why we drop everything that has expressions first, and create it
// again as it was. With --online we do the same for indexes of partitions, since
// Postgres would otherwise rename them.
func (p *postgresPlanner) narrowed(table catalog.Name, alter []string) (undo []string) {
	var again []string
	for _, member := range p.family(table) {
		indexes, checks := p.partsOf(member)
		for _, x := range indexes {
			if !x.parsed && !(p.options.Online && (x.attached || p.partitioned[member])) {
				continue
			}
			name := p.name(catalog.Name{Schema: member.Schema, Name: x.name})
			switch {
			case x.attached: // dropped along with the index it is attached to
			case x.kind != "":
				undo = append(undo, p.alter(member)+"DROP CONSTRAINT "+p.Quote(x.constraint))
			default:
				undo = append(undo, "DROP INDEX "+p.ifExists(member)+name)
			}
			again = append(again, p.ifThere(member, x.was))
			if x.comment != "" {
				again = append(again, p.ifThere(member, "COMMENT ON INDEX "+name+" IS "+p.Literal(x.comment)))
			}
			if x.says != "" {
				again = append(again, p.ifThere(member, fmt.Sprintf("COMMENT ON CONSTRAINT %s ON %s IS %s", p.Quote(x.constraint), p.name(member), p.Literal(x.says))))
			}
			if x.clustered {
				again = append(again, p.alter(member)+"CLUSTER ON "+p.Quote(x.name))
			}
		}
		for _, k := range checks {
			undo = append(undo, p.alter(member)+"DROP CONSTRAINT "+p.Quote(k.name))
			again = append(again, p.alter(member)+"ADD CONSTRAINT "+p.Quote(k.name)+" "+k.was)
			if k.comment != "" {
				again = append(again, p.ifThere(member, fmt.Sprintf("COMMENT ON CONSTRAINT %s ON %s IS %s", p.Quote(k.name), p.name(member), p.Literal(k.comment))))
			}
		}
	}
	return slices.Concat(undo, alter, again)
}

// touches reports whether any of the columns is replaced.
func (p *postgresPlanner) touches(table catalog.Name, columns lists) bool {
	return slices.ContainsFunc(p.widened[p.root(table)], func(c catalog.Column) bool { return columns.has(c.Name) })
}

// rehearse finds out the definitions of indexes and checks for the new columns. It
// creates an empty copy of the table, replaces the columns there, and asks the server
// for the definitions. The copy is temporary, and the transaction is rolled back. That
// way the server itself writes every expression, operator class and collation, and also
// reports if an expression makes no sense for bigint.
func (p *postgresPlanner) rehearse(ctx context.Context, conn *sql.Conn, table catalog.Name) error {
	const copied = "pg_temp.snowkey_like"
	columns := p.widened[p.root(table)]
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
	refuse := func(err error) error {
		if ctx.Err() != nil {
			return fmt.Errorf("autoinc: %w", ctx.Err())
		}
		p.refuse(columns[0], "if an index or a check has no meaning for bigint, drop it, apply the phase widen, and make another; if a privilege is missing, plan as a user who may create temporary tables",
			"the definitions of the indexes and checks of %s for the new columns cannot be found: %v", p.name(table), err)
		return nil
	}
	if _, err := tx.ExecContext(ctx, "CREATE TEMPORARY TABLE snowkey_like (LIKE "+p.name(table)+" INCLUDING INDEXES INCLUDING CONSTRAINTS)"); err != nil {
		return refuse(err)
	}
	// The indexes of the copy are in the same order, but have other names.
	of := func(relation string) ([]string, error) {
		return database.List(ctx, tx, "SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = "+p.Literal(relation)+"::regclass ORDER BY x.indexrelid", database.Text)
	}
	originals, err := of(p.name(table))
	if err != nil {
		return err
	}
	copies, err := of(copied)
	if err != nil {
		return err
	}
	if len(copies) != len(originals) {
		return refuse(fmt.Errorf("a copy of the table has %d indexes, and the table %d", len(copies), len(originals)))
	}
	statements := make([]string, 0, len(copies)+2*len(columns))
	for i, name := range copies {
		statements = append(statements, fmt.Sprintf("ALTER INDEX pg_temp.%s RENAME TO snowkey_like_%d", p.Quote(name), i))
	}
	for _, c := range columns {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE bigint", copied, p.Quote(c.Name)))
	}
	for _, c := range columns {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO %s", copied, p.Quote(c.Name), p.Quote(p.fresh(c))))
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return refuse(err)
		}
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

// partsOf returns those indexes and checks of a table that are created a second time.
func (p *postgresPlanner) partsOf(table catalog.Name) (indexes []*postgresIndex, checks []*postgresCheck) {
	for i := range p.indexes {
		if p.indexes[i].table == table {
			indexes = append(indexes, &p.indexes[i])
		}
	}
	for i := range p.checks {
		if p.checks[i].table == table {
			checks = append(checks, &p.checks[i])
		}
	}
	return indexes, checks
}

// check adds checks on the new columns next to the old checks, which will be dropped
// together with the old columns.
func (o *onlinePlanner) check(table catalog.Name) {
	for _, member := range o.family(table) {
		_, checks := o.partsOf(member)
		for _, k := range checks {
			fresh := o.Quote(database.Own("snowkey_check", k.name))
			unit := o.begin()
			o.lock(Widen, unit, againstAll, table, nil)
			o.add(Widen, Step{
				Text: "add a check like " + o.Quote(k.name) + " of the new columns of " + o.name(member), Unit: unit,
				SQL:   fmt.Sprintf("%sADD CONSTRAINT %s %s NOT VALID", o.alter(member), fresh, k.definition),
				Locks: fmt.Sprintf(postgresExclusive, o.name(table)) + ", which is at once",
				Undo:  []string{o.alter(member) + "DROP CONSTRAINT IF EXISTS " + fresh},
			})
			if k.valid {
				o.validate(member, "check it on every row", []string{fresh})
			}
		}
	}
}

// validate adds steps that check constraints on every row of a table, one partition at
// a time.
func (o *onlinePlanner) validate(table catalog.Name, text string, constraints []string) {
	for _, member := range o.family(table) {
		o.add(Widen, Step{
			Text: text + " of " + o.name(member), Unit: o.begin(), Before: unhurried,
			SQL:   o.alter(member) + "VALIDATE CONSTRAINT " + strings.Join(constraints, ", VALIDATE CONSTRAINT "),
			Locks: "SHARE UPDATE EXCLUSIVE: readers and writers go on; it reads the table once",
		})
	}
}

// index creates the indexes on the new columns. For a partitioned table, the partitions
// get their indexes first, and Postgres then attaches these to the index of the table.
// There's no way to turn an index of a partitioned table into a constraint, so
// constraints of such a table are left to the swap.
func (o *onlinePlanner) index(table catalog.Name) {
	for _, member := range o.family(table) {
		indexes, _ := o.partsOf(member)
		for _, x := range indexes {
			if !o.partitioned[member] {
				o.indexAlone(x)
			} else if x.kind == "" {
				unit := o.begin()
				o.lock(Widen, unit, againstWriters, table, nil)
				o.add(Widen, Step{
					Text: "make an index like " + o.Quote(x.name) + ", to which the indexes of the partitions are attached", Unit: unit,
					SQL:   o.ifThere(member, o.createIndex(x, "")),
					Locks: "SHARE ROW EXCLUSIVE on " + o.name(table) + ": writers wait for a moment",
					Undo:  []string{"DROP INDEX IF EXISTS " + o.name(o.freshIndex(x))},
				})
			}
		}
	}
}

func (o *onlinePlanner) createIndex(x *postgresIndex, how string) string {
	unique := ""
	if x.unique {
		unique = "UNIQUE "
	}
	return fmt.Sprintf("CREATE %sINDEX %s%s ON %s USING %s", unique, how, o.Quote(o.freshIndex(x).Name), o.name(x.table), x.method)
}

func (o *onlinePlanner) indexAlone(x *postgresIndex) {
	fresh := o.freshIndex(x)
	o.add(Widen, Step{
		Text: "make an index like " + o.Quote(x.name) + " for the new columns of " + o.name(x.table),
		SQL:  o.createIndex(x, "CONCURRENTLY "),
		Done: fmt.Sprintf("SELECT count(*)%s FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_namespace n ON n.oid = i.relnamespace WHERE n.nspname = %s AND i.relname = %s AND x.indisvalid",
			o.orGone(x.table), o.Literal(fresh.Schema), o.Literal(fresh.Name)),
		Retry:  "DROP INDEX CONCURRENTLY IF EXISTS " + o.name(fresh), // a failed attempt leaves an invalid index behind
		Before: unhurried,
		Locks:  "SHARE UPDATE EXCLUSIVE: readers and writers go on; it waits until older transactions have ended",
		Undo:   []string{"DROP INDEX CONCURRENTLY IF EXISTS " + o.name(fresh)},
	})
}

func (o *onlinePlanner) freshIndex(x *postgresIndex) catalog.Name {
	return catalog.Name{Schema: x.table.Schema, Name: database.Own("snowkey_index", x.name)}
}

// renameParts gives the new parts the names of the old ones, which are gone along with
// the old columns. It also adds the parts that could not be created in advance.
func (o *onlinePlanner) renameParts(table catalog.Name, add func(text, format string, args ...any)) {
	name, alter := o.name(table), o.alter(table)
	there := func(format string, args ...any) string { return o.ifThere(table, fmt.Sprintf(format, args...)) }
	indexes, checks := o.partsOf(table)
	for _, x := range indexes {
		fresh, add := o.freshIndex(x), add
		if x.attached && x.kind == "" {
			add = o.later(table)
		}
		switch {
		case x.kind != "" && o.partitioned[table]:
			add("add the constraint, which the partitions have already", "%s", there("%s", x.was))
		case x.kind == "p":
			add("make the primary key of its index", "%sADD CONSTRAINT %s PRIMARY KEY USING INDEX %s%s", alter, o.Quote(x.constraint), o.Quote(fresh.Name), x.detail)
		case x.kind == "u":
			add("make the constraint of its index", "%sADD CONSTRAINT %s UNIQUE USING INDEX %s%s", alter, o.Quote(x.constraint), o.Quote(fresh.Name), x.detail)
		default:
			add("give the index the name of the old", "ALTER INDEX %s%s RENAME TO %s", o.ifExists(table), o.name(fresh), o.Quote(x.name))
		}
		if x.comment != "" {
			add("comment on it", "%s", there("COMMENT ON INDEX %s IS %s", o.name(catalog.Name{Schema: table.Schema, Name: x.name}), o.Literal(x.comment)))
		}
		if x.says != "" {
			add("comment on its constraint", "%s", there("COMMENT ON CONSTRAINT %s ON %s IS %s", o.Quote(x.constraint), name, o.Literal(x.says)))
		}
		if x.clustered {
			add("let CLUSTER order the table by it again", "%sCLUSTER ON %s", alter, o.Quote(x.name))
		}
	}
	for _, k := range checks {
		add("give the check the name of the old", "%sRENAME CONSTRAINT %s TO %s", alter, o.Quote(database.Own("snowkey_check", k.name)), o.Quote(k.name))
		if k.comment != "" {
			add("comment on it", "%s", there("COMMENT ON CONSTRAINT %s ON %s IS %s", o.Quote(k.name), name, o.Literal(k.comment)))
		}
	}
	for _, s := range o.statistics {
		if s.table == table {
			add("make the statistics again; ANALYZE fills them", "%s", there("%s", s.definition))
		}
	}
	for _, g := range o.grants {
		if g.Table == table && slices.Contains(o.names(o.root(table)), g.Name) {
			add("grant what was granted on the old column", "%s", there("GRANT %s (%s) ON %s TO %s%s", g.privilege, o.Quote(g.Name), name, o.role(g.role), g.option))
		}
	}
}
