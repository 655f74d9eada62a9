package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// progressTable is the table that holds the progress of Apply.
const progressTable = "snowkey_migration"

// A planner makes a single plan.
type planner struct {
	server
	options    PlanOptions
	report     catalog.Report
	compared   *Plan // a plan that was made before, if it is to be compared with this one
	database   string
	keys       []catalog.Key // the keys to migrate
	references []reference   // all foreign keys of the database
	refusals   []refusal
	steps      map[PhaseName][]Step
	notes      map[PhaseName][]string
	unit       int
	unique     map[place]bool // the columns that are unique by themselves
	sizes      []tableSize
	rate       int64
}

func (p *planner) refuse(column catalog.Column, remedy, format string, args ...any) {
	r := refusal{column, fmt.Sprintf(format, args...), remedy}
	if !slices.Contains(p.refusals, r) {
		p.refusals = append(p.refusals, r)
	}
}

// add appends a step to a phase.
func (p *planner) add(phase PhaseName, s Step) {
	if p.steps == nil {
		p.steps = make(map[PhaseName][]Step)
	}
	s.ID = fmt.Sprintf("%s/%d", phase, len(p.steps[phase])+1)
	s.Run = cmp.Or(s.Run, Exec)
	p.steps[phase] = append(p.steps[phase], s)
}

func (p *planner) note(phase PhaseName, format string, args ...any) {
	if p.notes == nil {
		p.notes = make(map[PhaseName][]string)
	}
	p.notes[phase] = append(p.notes[phase], database.Printable(fmt.Sprintf(format, args...)))
}

// begin returns the number of a new transaction.
func (p *planner) begin() int {
	p.unit++
	return p.unit
}

// choose selects the keys to plan. It refuses those that can't be migrated on any
// server.
func (p *planner) choose() error {
	counts := func(n catalog.Name) bool {
		return slices.ContainsFunc(p.report.Keys, func(k catalog.Key) bool { return k.Column.Table == n })
	}
	for _, name := range slices.Concat(p.options.Tables, p.options.Except) {
		if !counts(name) {
			return fail(ErrTable, "the table %q of %q has no auto-increment key among those inspected; see catalog.Inspect for the tables that have one", name.Name, name.Schema)
		}
	}
	var anyKey []catalog.ForeignKey // the columns that may hold any key have to be widened with one that is chosen
	for _, k := range p.report.Keys {
		table := k.Column.Table
		chosen := len(p.options.Tables) == 0 || slices.Contains(p.options.Tables, table)
		if chosen && !slices.Contains(p.options.Except, table) {
			p.keys = append(p.keys, k)
			continue
		}
		for _, fk := range k.ForeignKeys {
			if fk.AnyKey {
				anyKey = append(anyKey, fk)
			}
		}
	}
	for _, fk := range anyKey {
		if len(p.keys) > 0 {
			fk.Parent = p.keys[0].Column
			p.keys[0].ForeignKeys = append(p.keys[0].ForeignKeys, fk)
		}
	}
	for _, f := range p.report.Findings {
		if f.Kind == catalog.Unseen {
			p.note(Widen, "Not all was seen when this was planned: %s.", f.Text)
		}
	}
	for _, k := range p.keys {
		p.refuseKey(k)
	}
	return nil
}

func (p *planner) refuseKey(k catalog.Key) {
	for _, column := range k.Columns() {
		if !plain(column.Name) || !plain(column.Table.Name) || !plain(column.Table.Schema) {
			p.refuse(column, "rename it", "its name has a line end or another control character, which no reviewer would see")
		}
	}
	switch part := slices.Contains(k.PrimaryKey, k.Column.Name); {
	case !part && !p.unique[exactPlace(k.Column)]:
		p.refuse(k.Column, "leave its table out of the plan (Except, --except), and decide by hand: an order number or a version may be meant to count",
			"it is not the primary key, which is %q", k.PrimaryKey)
	case !part && !p.options.Composite:
		p.refuse(k.Column, "if it is meant to count, as an order number is, leave its table out of the plan (Except, --except); else plan it too (Composite, --composite)",
			"it is unique, but not the primary key, which is %q", k.PrimaryKey)
	case part && !k.Primary() && !p.options.Composite:
		p.refuse(k.Column, "if it is meant to count within the rest of the key, leave its table out of the plan (Except, --except); else plan it too (Composite, --composite)",
			"it is not the whole primary key, which is %q", k.PrimaryKey)
	}
	if k.Column.Bits == 0 {
		p.refuse(k.Column, "make it a column of whole numbers", "it is %s, which is not a number", k.Column.Type)
	}
	if k.Counter.Step < 0 {
		p.refuse(k.Column, "count upwards, or leave its table out of the plan", "it counts downwards by %d, and generated keys are positive", -k.Counter.Step)
	}
	if next, known := new(big.Int).SetString(k.Counter.Next, 10); known && next.Cmp(big.NewInt(p.options.Floor)) > 0 && !p.fenced(k) {
		p.refuse(k.Column, fmt.Sprintf("find out who wrote that key while the table counted. On MySQL, MariaDB and SQLite the counter stays beyond it until such rows are gone; on Postgres set the sequence back. If rows were counted this far, plan with a larger floor than %d", p.options.Floor),
			"its counter stands at %s, beyond the floor: a generated key is in a table that still counts, or a setval has moved it, so that counted and generated keys cannot be told apart", next)
	}
	for _, fk := range k.ForeignKeys {
		if fk.Child.Bits > 0 && fk.Parent.Bits > 0 && fk.Child.Unsigned != fk.Parent.Unsigned && !fk.Undeclared {
			p.refuse(fk.Child, "give both the same sign first", "it is %s and references %s, which is %s; the foreign key could not be added again",
				fk.Child.Type, p.column(fk.Parent), fk.Parent.Type)
		}
	}
}

// narrowLimit matches the ends of the ranges of narrow integers.
var narrowLimit = regexp.MustCompile(`\b(32767|32768|65535|65536|8388607|8388608|16777215|16777216|2147483647|2147483648|4294967295|4294967296)\b`)

// refuseConditions refuses columns with a CHECK that ends where narrow integers do.
func (p *planner) refuseConditions(ctx context.Context, conn *sql.Conn) error {
	if p.syntax().conditions == "" || p.compared != nil {
		return nil
	}
	conditions, err := database.List(ctx, conn, p.syntax().conditions, (*condition).dest)
	for _, check := range conditions {
		if !narrowLimit.MatchString(check.text) {
			continue
		}
		for _, k := range p.keys {
			for _, c := range k.Columns() {
				if c.Table == check.table && database.Contains(check.text, c.Name) {
					p.refuse(c, "drop it, or raise its limit to 9223372036854775807", "the constraint %s ends where narrower integers do, and would refuse a generated key: %s", p.Quote(check.name), check.text)
				}
			}
		}
	}
	return err
}

// noteRoutines adds notes about functions, procedures and triggers that may not accept
// 64-bit keys.
func (p *planner) noteRoutines() {
	for _, k := range p.keys {
		for _, f := range k.Findings {
			if f.Kind == catalog.NarrowRoutine && f.Severity > catalog.Note {
				p.note(Widen, "Before this phase, look at what may be too narrow: %s. Make what holds a key bigint.", f.Text)
			}
		}
	}
}

// refuseUndecided refuses narrow columns that may hold a key, until the caller has
// decided about them. If such a column does hold keys, the first row with a generated
// key would fail, or on a server that isn't strict, store another number.
func (p *planner) refuseUndecided() {
	findings := p.report.Findings
	for _, k := range p.keys {
		findings = slices.Concat(findings, k.Findings)
	}
	for _, f := range findings {
		if f.Kind == catalog.LikelyChild && len(p.keys) > 0 { // there are none if the plan was made before
			p.refuse(f.Column, f.Remedy, "%s", f.Text)
		}
	}
}

// plain reports whether a name can be shown on a single line without escapes.
func plain(name string) bool { return utf8.ValidString(name) && database.Printable(name) == name }

// fenced reports whether the key's table already has the fence.
func (p *planner) fenced(k catalog.Key) bool {
	return slices.ContainsFunc(k.Triggers, func(t catalog.Trigger) bool {
		return t.Table == k.Column.Table && t.Name == database.Own(database.FencePrefix, t.Table.Name)
	})
}

// guardName returns the name of the guard of a key. A table may have two keys.
func (p *planner) guardName(k catalog.Key, table catalog.Name) string {
	i := slices.IndexFunc(p.keys, func(other catalog.Key) bool { return other.Column.Table == k.Column.Table })
	if p.keys[i].Column.Name != k.Column.Name {
		return database.Own(database.GuardPrefix, table.Name+"_"+k.Column.Name)
	}
	return database.Own(database.GuardPrefix, table.Name)
}

// guarded reports whether a table already has the guard.
func (p *planner) guarded(k catalog.Key, table catalog.Name) bool {
	return slices.ContainsFunc(k.Triggers, func(t catalog.Trigger) bool { return t.Table == table && t.Name == p.guardName(k, table) })
}

// held returns the references that involve at least one of the columns.
func (p *planner) held(columns []catalog.Column) (all []reference) {
	for _, r := range p.references {
		touches := slices.ContainsFunc(columns, func(c catalog.Column) bool {
			return c.Table == r.Child && slices.Contains(r.Columns, c.Name) || c.Table == r.Parent && slices.Contains(r.Keys, c.Name)
		})
		if touches {
			all = append(all, r)
		}
	}
	return all
}

// narrow returns all narrow columns that hold one of the keys, grouped by table and
// without duplicates.
func (p *planner) narrow() (tables []catalog.Name, columns map[catalog.Name][]catalog.Column) {
	columns = make(map[catalog.Name][]catalog.Column)
	add := func(c catalog.Column) {
		if narrow(c) && !slices.ContainsFunc(columns[c.Table], sameAs(c)) {
			if len(columns[c.Table]) == 0 {
				tables = append(tables, c.Table)
			}
			columns[c.Table] = append(columns[c.Table], c)
		}
	}
	// Children come first, since their tables are usually larger than the parents'
	// tables, and nothing else can be done until they are widened.
	for _, k := range p.keys {
		for _, fk := range k.ForeignKeys {
			add(fk.Child)
		}
	}
	for _, k := range p.keys {
		add(k.Column)
	}
	return tables, columns
}

// noteWide is for plans without narrow columns.
func (p *planner) noteWide() {
	p.note(Widen, "Keys and children have 64 bits already: there is nothing to widen.")
}

// tables returns all tables of the plan, without duplicates.
func (p *planner) tables() (all []catalog.Name) {
	for _, k := range p.keys {
		all = append(all, k.Column.Table)
		for _, fk := range k.ForeignKeys {
			all = append(all, fk.Child.Table)
		}
	}
	slices.SortFunc(all, compareNames)
	return slices.Compact(all)
}

func compareNames(a, b catalog.Name) int {
	return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
}

// count adds steps that count the rows of each table, so that Verify notices if rows
// are missing.
func (p *planner) count() {
	for _, table := range p.tables() {
		p.add(Widen, Step{
			Text: "count the rows of " + p.name(table) + ", for the proof at the end",
			Run:  Count, SQL: p.counting(table),
			Locks: "nothing; it reads the table once",
		})
	}
}

// checkOrphans adds steps that look for rows without a parent before anything is changed.
// Such a row would stop the phase when its foreign key is checked again.
func (p *planner) checkOrphans(ctx context.Context, conn *sql.Conn, references []reference) error {
	for _, r := range references {
		if !r.Valid {
			continue
		}
		const remedy = "delete or mend these rows"
		if p.compared == nil {
			found, err := anyRow(ctx, conn, p.orphans(r))
			if err != nil {
				return err
			}
			if found {
				p.refuse(catalog.Column{Table: r.Child, Name: r.Columns[0]}, remedy, "a row references one of %s that is not there, so that its foreign key could not be checked again; see %s", p.name(r.Parent), p.orphans(r))
			}
		}
		p.add(Widen, Step{
			Text: "check that no row of " + p.name(r.Child) + " references a missing row, before anything is changed", Run: Check, SQL: p.orphans(r),
			Locks: "nothing; it reads the table once", Remedy: remedy + ", and apply again",
		})
	}
	return nil
}

// anyRow reports whether a query returns a row. It selects a count, because the result
// type of a prepared statement must not change along with the columns.
func anyRow(ctx context.Context, q database.Querier, query string) (bool, error) {
	n, err := database.One(ctx, q, "SELECT count(*) FROM ("+query+") AS found", database.Number)
	return n > 0, err
}

// outside returns a query for a value of the column that doesn't fit the type which the
// column has now.
func (s server) outside(c catalog.Column) string {
	name, bits := s.Quote(c.Name), c.Bits
	condition := fmt.Sprintf("%s > %d", name, uint64(1)<<bits-1)
	if !c.Unsigned {
		condition = fmt.Sprintf("(%[1]s > %[2]d OR %[1]s < -%[3]d)", name, uint64(1)<<(bits-1)-1, uint64(1)<<(bits-1))
	}
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s LIMIT 1", name, s.name(c.Table), condition)
}

// counting returns the query that counts the rows of a table.
func (s server) counting(table catalog.Name) string { return countRows + s.name(table) }

const countRows = "SELECT count(*) FROM "

// plan assembles the plan.
func (p *planner) plan() *Plan {
	plan := &Plan{
		Dialect: p.Dialect, Version: p.Version, Database: p.database, Online: p.options.Online, Default: p.options.Default, Floor: p.options.Floor,
		Progress:    catalog.Name{Name: progressTable},
		notChildren: p.options.NotChildren, sizes: p.sizes, rate: p.rate,
	}
	for _, k := range p.keys {
		for _, fk := range k.ForeignKeys {
			if fk.Undeclared {
				plan.children = append(plan.children, fk)
			}
		}
	}
	if len(p.keys) > 0 {
		plan.Progress.Schema = p.keys[0].Column.Table.Schema
	} else if len(p.report.Schemas) > 0 {
		plan.Progress.Schema = p.report.Schemas[0]
	}
	for _, k := range p.keys {
		planned := plannedKey{Column: k.Column, Mechanism: k.Mechanism, Also: k.Inheritors}
		for _, fk := range k.ForeignKeys {
			if !slices.ContainsFunc(planned.Holders, sameAs(fk.Child)) {
				planned.Holders = append(planned.Holders, fk.Child)
			}
		}
		planned.References = p.held(k.Columns())
		plan.add(planned)
	}
	names := phaseNames
	if p.compared == nil && p.short() || p.compared != nil && len(p.compared.Phases) < len(phaseNames) {
		p.steps[Drop] = append(p.steps[Widen], p.steps[Drop]...)
		for i := range p.steps[Drop] {
			p.steps[Drop][i].ID = fmt.Sprintf("%s/%d", Drop, i+1)
		}
		const first = "Before this phase, ship readers that take 64 bits (int64 in Go, strings in JSON), and then have all writers send generated keys. Writers with and without keys can run side by side until then."
		p.notes[Drop] = slices.Concat(p.notes[Widen], []string{first}, p.notes[Drop])
		names = phaseNames[slices.Index(phaseNames, Drop):]
	}
	for _, name := range names {
		plan.Phases = append(plan.Phases, Phase{Name: name, Notes: p.notes[name], Steps: p.steps[name]})
	}
	return plan
}

// short reports whether no phase before Drop changes anything, as for keys of the type
// bigserial.
func (p *planner) short() bool {
	changes := func(s Step) bool { return s.Run != Count && s.Run != Check }
	return len(p.keys) > 0 && !slices.ContainsFunc(phaseNames[:slices.Index(phaseNames, Drop)], func(name PhaseName) bool { return slices.ContainsFunc(p.steps[name], changes) })
}
