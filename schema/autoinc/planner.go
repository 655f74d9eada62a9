package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// progressTable is the table that holds the progress of Apply.
const progressTable = "snowkey_migration"

// A planner collects the steps of a plan. What they are depends on the server.
type planner struct {
	*changes
	database string
	steps    map[PhaseName][]Step
	notes    map[PhaseName][]string
	unit     int
	sizes    []tableSize
	speed    speed
}

// add appends steps to a phase.
func (p *planner) add(phase PhaseName, steps ...Step) {
	for _, s := range steps {
		s.ID = fmt.Sprintf("%s/%d", phase, len(p.steps[phase])+1)
		s.Run = cmp.Or(s.Run, Exec)
		if s.reads() {
			s.Locks = cmp.Or(s.Locks, "nothing; it reads the table once")
		}
		p.steps[phase] = append(p.steps[phase], s)
	}
}

func (p *planner) note(phase PhaseName, format string, args ...any) {
	p.notes[phase] = append(p.notes[phase], database.Printable(fmt.Sprintf(format, args...)))
}

// begin returns the number of a new transaction.
func (p *planner) begin() int {
	p.unit++
	return p.unit
}

// noteWide is for plans without narrow columns.
func (p *planner) noteWide() {
	p.note(Widen, "Keys and children have 64 bits already: there is nothing to widen.")
}

// notePhases says what people have to do between the phases after Widen.
func (p *planner) notePhases() {
	p.note(Readers, "Ship readers that take 64 bits before the next phase: int64 in Go, strings in JSON, bigint in functions of the database.")
	if p.Dialect == catalog.Postgres {
		p.note(Fence, "The database needs no change: a generated key does not move a sequence. Writers without keys and writers with keys can run side by side until the counter is dropped.")
		p.note(SwitchOn, "Before the first generated key, have clients that keep prepared statements, such as pgx, connect again or DISCARD ALL: they know the narrow type, and refuse the key (greater than maximum value for int4).")
		p.note(SwitchOn, "From here on keys may be sent. Have all writers send generated keys, and apply the next phase when none is left that does not.")
	} else {
		p.note(Fence, "From here on a writer that sends no key fails. On %s this has to come before the first generated key, which would move the counter beyond it.", p.Dialect)
		p.note(SwitchOn, "The database needs no change. Deploy writers that send generated keys, and apply the next phase when all of them do.")
	}
	p.note(Guard, "A writer that sends a key below %d fails, unless the row is there already: an upsert of an old row goes through.", p.options.Floor)
}

// beginWiden adds the steps that come first: they count the rows of each table, so that
// Verify notices if rows are missing.
func (p *planner) beginWiden() {
	for _, f := range p.report.Findings {
		if f.Kind == catalog.Unseen {
			p.note(Widen, "Not all was seen when this was planned: %s.", f.Text)
		}
	}
	for _, table := range p.tables() {
		p.countRows(Widen, table)
	}
}

func (p *planner) countRows(phase PhaseName, table catalog.Name) {
	p.add(phase, Step{Text: "count the rows of " + p.name(table) + ", for the proof at the end", Run: Count, SQL: p.counting(table)})
}

// checkOrphans adds steps that look for rows without a parent before anything is changed.
// Such a row would stop the phase when its foreign key is checked again.
func (p *planner) checkOrphans(ctx context.Context, conn *sql.Conn, phase PhaseName, references []catalog.Reference) error {
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
		p.add(phase, Step{Text: "check that no row of " + p.name(r.Child) + " references a missing row, before anything is changed", Run: Check, SQL: p.orphans(r), Remedy: remedy + ", and apply again"})
	}
	return nil
}

// fence returns a step that refuses rows of a table which come without a key.
func (p *planner) fence(k catalog.Key) Step {
	none := 0
	if p.Dialect == catalog.SQLite {
		// According to the SQLite documentation, the key that a trigger sees in such a row is
		// undefined, but it has been -1 in every version so far.
		none = -1
	}
	table := k.Column.Table
	return p.refusing(k, database.Own(database.FencePrefix, table.Name), "refuse rows of "+p.name(table)+" that come without a key",
		fmt.Sprintf("COALESCE(NEW.%s, %d) = %[2]d", p.Quote(k.Column.Name), none), "this row came without")
}

// guard returns a step that refuses new rows of a table whose key isn't a generated one.
func (p *planner) guard(k catalog.Key) Step {
	table := k.Column.Table
	return p.refusing(k, p.guardName(k, table), fmt.Sprintf("refuse new rows of %s with a key below %d, or without one", p.name(table), p.options.Floor),
		fmt.Sprintf("COALESCE(NEW.%s, 0) < %d AND NOT EXISTS (SELECT 1 FROM %s WHERE %[1]s = NEW.%[1]s)", p.Quote(k.Column.Name), p.options.Floor, p.inTrigger(table)), "this one was not")
}

// refusing returns a step that refuses new rows of a table of MySQL or SQLite if they meet a
// condition.
func (p *planner) refusing(k catalog.Key, name, text, condition, what string) Step {
	const most = 128 // characters of a message of MySQL
	table, message := k.Column.Table, "snowkey: "+k.Column.Table.Name+"."+k.Column.Name+" is to be generated, and "+what
	if utf8.RuneCountInString(message) > most {
		message = "snowkey: the key is to be generated, and " + what
	}
	trigger := catalog.Name{Schema: table.Schema, Name: name}
	create := "CREATE TRIGGER " + p.name(trigger) + " BEFORE INSERT ON " + p.inTrigger(table)
	s := Step{Text: text, Locks: "writers of " + p.name(table) + " for a moment", Undo: []string{"DROP TRIGGER IF EXISTS " + p.name(trigger)}, Lasting: true}
	if p.IsMySQL() {
		s.SQL = fmt.Sprintf("%s FOR EACH ROW IF %s THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = %s; END IF", create, condition, p.Literal(message))
		s.Done = p.listed(1, "TRIGGERS", "TRIGGER", trigger, "")
	} else {
		s.SQL = fmt.Sprintf("%s WHEN %s BEGIN SELECT RAISE(ABORT, %s); END", create, condition, p.Literal(message))
		s.Done, s.Unit = "SELECT count(*) FROM main.sqlite_master WHERE type = 'trigger' AND name = "+p.Literal(name), p.begin()
	}
	return s
}

// inTrigger returns the name of a table in the definition of its trigger.
func (s server) inTrigger(table catalog.Name) string {
	if s.Dialect == catalog.SQLite { // whose triggers are in the schema of their table
		return s.Quote(table.Name)
	}
	return s.name(table)
}

// orphans returns a query for a row whose parent doesn't exist, among the rows of the child c
// that meet the conditions.
func (s server) orphans(r catalog.Reference, where ...string) string {
	set := database.Joined(r.Columns, " AND ", func(_ int, c string) string { return "c." + s.Quote(c) + " IS NOT NULL" })
	set = strings.Join(append(where, set), " AND ")
	ties := database.Joined(r.Columns, " AND ", func(i int, c string) string { return "p." + s.Quote(r.Keys[i]) + " = c." + s.Quote(c) })
	columns := database.Joined(r.Columns, ", ", func(_ int, c string) string { return "c." + s.Quote(c) })
	return fmt.Sprintf("SELECT %s FROM %s AS c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s AS p WHERE %s) LIMIT 1", columns, s.name(r.Child), set, s.name(r.Parent), ties)
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

// constraint returns the definition of a foreign key in SQL.
func (s server) constraint(r catalog.Reference) string {
	text := fmt.Sprintf("CONSTRAINT %s FOREIGN KEY (%s) REFERENCES %s (%s)", s.Quote(r.Name), s.List(r.Columns), s.name(r.Parent), s.List(r.Keys)) + r.Match
	unsaid := "NO ACTION" // what the server assumes if the definition doesn't say
	if s.Dialect == catalog.MariaDB {
		unsaid = "RESTRICT"
	}
	if r.OnUpdate != unsaid {
		text += " ON UPDATE " + r.OnUpdate
	}
	if r.OnDelete != unsaid {
		text += " ON DELETE " + r.OnDelete
	}
	return text + r.Detail
}

// counting returns the query that counts the rows of a table.
func (s server) counting(table catalog.Name) string { return countRows + s.name(table) }

const countRows = "SELECT count(*) FROM "

// sameRows returns a step that checks that a copy has as many rows as the table.
func (s server) sameRows(old, copied string) Step {
	return Step{
		Text: "check that no row is missing", Run: Check,
		SQL: fmt.Sprintf("SELECT old.n AS old, new.n AS new FROM (SELECT count(*) AS n FROM %s) AS old, (SELECT count(*) AS n FROM %s) AS new WHERE old.n <> new.n", old, copied),
	}
}

// anyRow reports whether a query returns a row. It selects a count, because the result
// type of a prepared statement must not change along with the columns.
func anyRow(ctx context.Context, q database.Querier, query string) (bool, error) {
	n, err := database.One(ctx, q, "SELECT count(*) FROM ("+query+") AS found", database.Number)
	return n > 0, err
}

// plan assembles the plan.
func (p *planner) plan() *Plan {
	plan := &Plan{
		Dialect: p.Dialect, Version: p.Version, Database: p.database, Online: p.options.Online, Default: p.options.Default, Floor: p.options.Floor,
		progress: catalog.Name{Name: progressTable},
		rekey:    p.options.Rekey, notChildren: p.options.NotChildren, sizes: p.sizes, speed: p.speed,
	}
	if len(p.keys) > 0 {
		plan.progress.Schema = p.keys[0].Column.Table.Schema
	} else if len(p.report.Schemas) > 0 {
		plan.progress.Schema = p.report.Schemas[0]
	}
	var columns []catalog.Column
	for _, k := range p.keys {
		columns = append(columns, k.Columns()...)
		planned := plannedKey{Column: k.Column, Also: k.Inheritors}
		for _, fk := range k.ForeignKeys {
			if fk.Undeclared {
				plan.children = append(plan.children, fk)
			}
			if !has(planned.Holders, fk.Child) {
				planned.Holders = append(planned.Holders, fk.Child)
			}
		}
		plan.keys = append(plan.keys, planned)
		for _, f := range k.Findings {
			if f.Kind == catalog.NarrowRoutine && f.Severity > catalog.Note {
				p.note(Widen, "Before this phase, look at what may be too narrow: %s. Make what holds a key bigint.", f.Text)
			}
		}
	}
	plan.references = p.held(columns)
	plan.complete()
	for _, name := range p.phases() {
		plan.Phases = append(plan.Phases, Phase{Name: name, Notes: p.notes[name], Steps: append([]Step{}, p.steps[name]...)})
	}
	return plan
}

// phases returns the phases of the plan. If no phase before Drop changes anything, as for
// keys of the type bigserial, they become a part of Drop.
func (p *planner) phases() []PhaseName {
	if p.options.Rekey != nil {
		return rekeyPhases
	}
	first := slices.Index(phaseNames, Drop)
	changes := func(s Step) bool { return !s.reads() }
	short := len(p.keys) > 0 && !slices.ContainsFunc(phaseNames[:first], func(name PhaseName) bool { return slices.ContainsFunc(p.steps[name], changes) })
	if p.compared != nil {
		short = len(p.compared.Phases) < len(phaseNames)
	}
	if !short {
		return phaseNames
	}
	steps := append(p.steps[Widen], p.steps[Drop]...)
	p.steps[Drop] = nil
	p.add(Drop, steps...)
	const deploy = "Before this phase, ship readers that take 64 bits (int64 in Go, strings in JSON), and then have all writers send generated keys. Writers with and without keys can run side by side until then."
	p.notes[Drop] = slices.Concat(p.notes[Widen], []string{deploy}, p.notes[Drop])
	return phaseNames[first:]
}
