package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A postgresPlanner plans for Postgres. It first reads what its steps depend on.
type postgresPlanner struct {
	*planner
	phase     PhaseName                   // in which columns change: Widen or Rekey
	views     []postgresView              // each after those that it uses
	uses      map[catalog.Name][]obstacle // by view
	sequences map[catalog.Name]postgresSequence
	obstacles []obstacle
	copies    []referenceCopy

	widened      byTable // the columns to widen
	parts        []postgresPart
	publications []string // publications that contain tables of the plan

	silent   bool                // whether this user may keep triggers from firing
	swapped  []catalog.Reference // online, foreign keys that have their final names already
	renamed  []catalog.Name      // and tables whose columns have their final names already
	rekeying *rekeying           // of an online plan with RekeyOptions
}

type postgresSequence struct {
	name                  catalog.Name
	start, increment, max int64
	kind                  string   // its type, such as integer
	options               string   // with its name, for an identity
	again                 []string // statements that give another one of this name its privileges and its comment
}

// An obstacle is a reason why the type of a column can't be altered, or why the column
// can't be replaced.
type obstacle struct {
	catalog.Column
	text string       // or, if it is a view that uses the column
	view catalog.Name // its name
}

func (o *obstacle) dest() []any { return append(path(&o.Column), &o.text) }

// A referenceCopy is what Postgres makes of a foreign key on each partition of its child.
// Note that the copy can have a different name, and that it may be valid even if the
// table's own foreign key isn't.
type referenceCopy struct {
	child, partition catalog.Name
	name, copied     string
	valid            bool
}

func (p *postgresPlanner) read(ctx context.Context, conn *sql.Conn) (err error) {
	session := "SELECT current_database(), current_setting('is_superuser') = 'on'"
	if p.AtLeast(15, 0) {
		session += " OR has_parameter_privilege(current_user, 'session_replication_role', 'SET')"
	}
	if _, err := database.One(ctx, conn, session, func(*struct{}) []any { return []any{&p.database, &p.silent} }); err != nil {
		return err
	}
	var published, uses []obstacle
	var sequences []postgresSequence
	err = cmp.Or(
		database.Into(ctx, conn, &uses, p.Query(database.Queries, "uses"), func(o *obstacle) []any { return append(path(&o.Column), &o.view.Schema, &o.view.Name, &o.text) }),
		database.Into(ctx, conn, &p.obstacles, p.query("obstacles"), (*obstacle).dest),
		database.Into(ctx, conn, &published, p.query("publications"), (*obstacle).dest),
		database.Into(ctx, conn, &sequences, p.query("sequences"), func(s *postgresSequence) []any {
			return append(tableName(&s.name), &s.start, &s.increment, &s.max, &s.kind, &s.options, database.ScanJSON(&s.again))
		}),
		database.Into(ctx, conn, &p.views, p.query("views"), func(v *postgresView) []any {
			return append(tableName(&v.name), &v.owner, database.ScanJSON(&v.parts), &v.lost)
		}),
		database.Into(ctx, conn, &p.copies, p.query("copies"), func(c *referenceCopy) []any {
			return []any{&c.child.Schema, &c.child.Name, &c.name, &c.partition.Schema, &c.partition.Name, &c.copied, &c.valid}
		}),
		database.Into(ctx, conn, &p.parts, p.query("parts"), func(x *postgresPart) []any {
			return append(tableName(&x.table), &x.name, &x.kind, &x.constraint, &x.unique, database.ScanJSON(&x.columns),
				&x.detail, &x.drop, database.ScanJSON(&x.again), &x.parsed, &x.attached, &x.problems, &x.definition)
		}),
	)
	if err != nil {
		return err
	}
	p.uses = database.Grouped(uses, func(u obstacle) catalog.Name { return u.view })
	for _, u := range uses {
		if u.text != "" {
			u.text += " uses it, and Postgres does not alter its type meanwhile"
			p.obstacles = append(p.obstacles, u)
		}
	}
	p.sequences = database.By(sequences, func(s postgresSequence) catalog.Name { return s.name })
	for _, o := range published {
		if slices.Contains(p.tables(), o.Table) && !slices.Contains(p.publications, o.text) {
			p.publications = append(p.publications, o.text)
		}
	}
	// If a foreign key was declared on a partition, we widen the column of the partitioned
	// table, which determines the type.
	columns := p.narrow()
	for i := range columns {
		columns[i].Table = p.root(columns[i].Table)
	}
	p.widened = group(columns)
	return nil
}

// family returns the partitions of a table, the deepest first, followed by the table
// itself.
func (p *postgresPlanner) family(table catalog.Name) []catalog.Name {
	if members := p.members[table]; members != nil {
		return members
	}
	return []catalog.Name{table}
}

// everywhere returns the columns, along with the same columns of all partitions.
func (p *postgresPlanner) everywhere(columns []catalog.Column) (all []catalog.Column) {
	for _, c := range columns {
		for _, c.Table = range p.family(c.Table) {
			all = append(all, c)
		}
	}
	return all
}

// in returns a column in one partition of its table.
func (p *postgresPlanner) in(partition catalog.Name, c catalog.Column) column {
	c.Table = partition
	return p.columns[bare(c)]
}

// copiesOf returns the copies of a foreign key on the partitions of its child, the
// deepest first, followed by the foreign key itself.
func (p *postgresPlanner) copiesOf(r catalog.Reference) (all []catalog.Reference) {
	for _, c := range p.copies {
		if c.child == r.Child && c.name == r.Name {
			is := r
			is.Child, is.Name, is.Valid = c.partition, c.copied, c.valid
			all = append(all, is)
		}
	}
	return all
}

// whole reports whether a foreign key is one between tables, rather than of a partition, which may
// be dropped later.
func (p *postgresPlanner) whole(r catalog.Reference) bool {
	return p.root(r.Child) == r.Child && p.root(r.Parent) == r.Parent
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

// isIdentity reports whether a key is an identity, rather than a default.
func (p *postgresPlanner) isIdentity(k catalog.Key) bool {
	return p.columns[bare(k.Column)].identity != ""
}

// narrowSequence reports whether the key has its own sequence, and this sequence ends
// before the last bigint. Identity columns don't need this, because their sequence
// changes along with the column.
func (p *postgresPlanner) narrowSequence(k catalog.Key) bool {
	return k.Mechanism == catalog.Serial && k.Counter.Narrow
}

// alter begins an ALTER TABLE. A partition may be dropped while the plan is being applied, in
// which case statements about it should do nothing.
func (p *postgresPlanner) alter(table catalog.Name) string {
	if p.root(table) == table {
		return "ALTER TABLE " + p.name(table) + " "
	}
	return "ALTER TABLE IF EXISTS " + p.name(table) + " "
}

// ifThere does the same for statements that don't support IF EXISTS.
func (p *postgresPlanner) ifThere(table catalog.Name, statement string) string {
	if p.root(table) == table {
		return statement
	}
	return "DO " + p.Literal(fmt.Sprintf("BEGIN IF to_regclass(%s) IS NOT NULL THEN %s; END IF; END", p.Literal(p.name(table)), statement))
}

// orGone makes a query also return true if the partition no longer exists.
func (p *postgresPlanner) orGone(table catalog.Name) string {
	if p.root(table) == table {
		return ""
	}
	return fmt.Sprintf(" + (to_regclass(%s) IS NULL)::int", p.Literal(p.name(table)))
}
