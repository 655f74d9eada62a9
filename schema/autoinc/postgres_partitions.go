package autoinc

import (
	"context"
	"database/sql"
	_ "embed" // for the query
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

const postgresPartitions = `SELECT n.nspname, c.relname, c.relkind = 'p', an.nspname, a.relname, a.oid = pg_partition_root(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL pg_partition_ancestors(c.oid) AS up (oid)
JOIN pg_class a ON a.oid = up.oid JOIN pg_namespace an ON an.oid = a.relnamespace
WHERE c.relkind = 'p' OR c.relispartition AND c.relkind = 'r'
ORDER BY (SELECT count(*) FROM pg_partition_ancestors(c.oid)) DESC, 1, 2`

//go:embed postgres_copies.sql
var postgresCopies string

// A referenceCopy is what Postgres makes of a foreign key on each partition of its child.
// Note that the copy can have a different name, and that it may be valid even if the
// table's own foreign key isn't.
type referenceCopy struct {
	of, is struct {
		child catalog.Name
		name  string
	}
	valid bool
}

func (p *postgresPlanner) readPartitions(ctx context.Context, conn *sql.Conn) error {
	type row struct {
		member, ancestor    catalog.Name
		partitioned, isRoot bool
	}
	rows, err := database.List(ctx, conn, postgresPartitions, func(r *row) []any {
		return []any{&r.member.Schema, &r.member.Name, &r.partitioned, &r.ancestor.Schema, &r.ancestor.Name, &r.isRoot}
	})
	if err != nil {
		return err
	}
	p.roots, p.members, p.partitioned = make(map[catalog.Name]catalog.Name), make(map[catalog.Name][]catalog.Name), make(map[catalog.Name]bool)
	for _, r := range rows {
		p.members[r.ancestor] = append(p.members[r.ancestor], r.member)
		p.partitioned[r.member] = r.partitioned
		if r.isRoot {
			p.roots[r.member] = r.ancestor
		}
	}
	p.copies, err = database.List(ctx, conn, postgresCopies, func(c *referenceCopy) []any {
		return []any{&c.of.child.Schema, &c.of.child.Name, &c.of.name, &c.is.child.Schema, &c.is.child.Name, &c.is.name, &c.valid}
	})
	return err
}

// root returns the partitioned table that a partition belongs to, or the table itself.
func (p *postgresPlanner) root(table catalog.Name) catalog.Name {
	if root, ok := p.roots[table]; ok {
		return root
	}
	return table
}

// family returns the partitions of a table, the deepest first, followed by the table
// itself.
func (p *postgresPlanner) family(table catalog.Name) []catalog.Name {
	if members := p.members[table]; members != nil {
		return members
	}
	return []catalog.Name{table}
}

// copiesOf returns the copies of a foreign key on the partitions of its child, the
// deepest first, followed by the foreign key itself.
func (p *postgresPlanner) copiesOf(r reference) (all []reference) {
	for _, c := range p.copies {
		if c.of.child == r.Child && c.of.name == r.Name {
			r := r
			r.Child, r.Name, r.Valid = c.is.child, c.is.name, c.valid
			all = append(all, r)
		}
	}
	return all
}

// ifExists returns the IF EXISTS for statements about a partition. A partition may be
// dropped while the plan is being applied, in which case they should do nothing.
func (p *postgresPlanner) ifExists(table catalog.Name) string {
	if p.root(table) == table {
		return ""
	}
	return "IF EXISTS "
}

func (p *postgresPlanner) alter(table catalog.Name) string {
	return "ALTER TABLE " + p.ifExists(table) + p.name(table) + " "
}

// ifThere does the same as ifExists, for statements that don't support IF EXISTS.
func (p *postgresPlanner) ifThere(table catalog.Name, statement string) string {
	if p.root(table) == table {
		return statement
	}
	return "DO " + p.Literal(fmt.Sprintf("BEGIN IF to_regclass(%s) IS NOT NULL THEN %s; END IF; END", p.Literal(p.name(table)), statement))
}

// counting returns the keys of a column, which can be several, because partitions may
// have their own counters.
func (p *postgresPlanner) counting(c catalog.Column) (keys []catalog.Key) {
	for _, k := range p.keys {
		if p.root(k.Column.Table) == c.Table && k.Column.Name == c.Name {
			keys = append(keys, k)
		}
	}
	return keys
}

// defaults returns SQL that sets the default of a column called name to the default of
// c. Partitions get the default of their table, unless theirs was different or they had
// none.
func (p *postgresPlanner) defaults(c catalog.Column, name string) (statements []string) {
	expression := p.facts[exactPlace(c)].expression
	if expression != "" {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s", p.name(c.Table), name, expression))
	}
	for _, member := range p.family(c.Table) {
		of := c
		of.Table = member
		switch own := p.facts[exactPlace(of)].expression; own {
		case expression:
		case "":
			statements = append(statements, fmt.Sprintf("ALTER TABLE IF EXISTS ONLY %s ALTER COLUMN %s DROP DEFAULT", p.name(member), name))
		default:
			statements = append(statements, fmt.Sprintf("ALTER TABLE IF EXISTS ONLY %s ALTER COLUMN %s SET DEFAULT %s", p.name(member), name, own))
		}
	}
	return statements
}

// orGone makes a query also return true if the partition no longer exists.
func (p *postgresPlanner) orGone(table catalog.Name) string {
	if p.root(table) == table {
		return ""
	}
	return fmt.Sprintf(" + (to_regclass(%s) IS NULL)::int", p.Literal(p.name(table)))
}

// checkPartitions adds a step that fails if a partition of the plan was detached. If
// others is set, it also fails if there are partitions that aren't in the plan. That's
// necessary as long as the new columns don't exist, because nothing would fill the rows
// of such a partition. Later on, new partitions are created with these columns and the
// trigger.
func (o *onlinePlanner) checkPartitions(table catalog.Name, unit int, others bool) {
	if !o.partitioned[table] {
		return
	}
	var names []string
	for _, member := range o.family(table) {
		names = append(names, "("+o.Literal(o.name(member))+")")
	}
	condition, remedy := "", "attach the partition again, or drop it"
	if others {
		condition, remedy = "p.name IS NULL OR ", "reverse this phase with snowkey migrate undo, and plan again"
	}
	o.add(Widen, Step{
		Text: "check that the partitions of " + o.name(table) + " are those of the plan", Unit: unit, Run: Check,
		SQL: fmt.Sprintf("SELECT coalesce(p.name, t.relid::regclass::text) AS partition FROM (VALUES %s) AS p (name) FULL JOIN pg_partition_tree(%s::regclass) AS t ON t.relid = to_regclass(p.name) WHERE %st.relid IS NULL AND to_regclass(p.name) IS NOT NULL LIMIT 1",
			strings.Join(names, ", "), o.Literal(o.name(table)), condition),
		Locks: "nothing", Remedy: remedy,
	})
}
