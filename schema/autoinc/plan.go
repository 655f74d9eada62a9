package autoinc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// DefaultFloor is the floor if [PlanOptions.Floor] is 0. An auto-increment counter does
// not get that far in practice, and generated keys are far above it.
const DefaultFloor = database.BeyondCounting

// PlanOptions say what [NewPlan] plans. The zero value plans the migration of every
// key that [catalog.Inspect] finds.
type PlanOptions struct {
	catalog.Options

	// Tables are the tables to migrate to generated keys. Defaults to all tables
	// with an auto-increment key.
	Tables []catalog.Name

	// Except are the tables that keep auto-increment.
	Except []catalog.Name

	// Online widens tables while the application reads and writes them, as far as the
	// server can. On Postgres a second column replaces the first one. On MySQL and
	// MariaDB only the foreign keys are added without locking. Online takes longer and
	// needs more disk space.
	Online bool

	// Composite allows keys that are one column of a composite primary key. Without it
	// NewPlan refuses them, because such a number may be meant to count from 1 within
	// the other columns.
	Composite bool

	// Floor is the least key that a new row may have once the guard phase is
	// applied. It must be above every auto-increment key, and no generated key may
	// be below it. Defaults to DefaultFloor.
	Floor int64
}

// A Plan is the SQL, in order, that migrates keys of one database from
// auto-increment to generated keys. [NewPlan] makes a plan, [Plan.WriteText] writes it
// for a reviewer, [ReadPlan] reads that text, [Apply] runs the plan and [Verify] checks
// the result.
type Plan struct {
	Dialect  catalog.Dialect
	Version  string // of the server it was made for
	Database string // the name of the database it was made for; of SQLite, of its file
	Online   bool
	Floor    int64
	Progress catalog.Name // the table in which Apply keeps its progress
	Phases   []Phase      // all of them, in order; one may have no steps

	keys        []plannedKey
	children    []catalog.ForeignKey // those of the options
	notChildren []catalog.Column
}

// A plannedKey is what [Verify] has to find again.
type plannedKey struct {
	Column     catalog.Column    `json:"column"` // as it was
	Mechanism  catalog.Mechanism `json:"mechanism"`
	Also       []catalog.Name    `json:"also,omitempty"`       // partitions and inheriting tables
	Holders    []catalog.Column  `json:"holders,omitempty"`    // the columns of foreign keys to it
	References []reference       `json:"references,omitempty"` // the foreign keys themselves
}

// A reference is a foreign key as a whole.
type reference struct {
	Name     string       `json:"name,omitempty"` // SQLite has none
	Child    catalog.Name `json:"child"`
	Columns  []string     `json:"columns"`
	Parent   catalog.Name `json:"parent"`
	Keys     []string     `json:"keys"` // the columns that are referenced
	OnUpdate string       `json:"onUpdate"`
	OnDelete string       `json:"onDelete"`
	Match    string       `json:"match,omitempty"`  // how it matches, if not as usual, as SQL
	Detail   string       `json:"detail,omitempty"` // when it is checked, if not at once, as SQL
	Valid    bool         `json:"valid"`            // Postgres: whether it was ever checked on all rows
}

func (r reference) same(other reference) bool {
	return r.Child == other.Child && r.Parent == other.Parent && slices.Equal(r.Columns, other.Columns) && slices.Equal(r.Keys, other.Keys)
}

// A PhaseName names a phase.
type PhaseName string

// The phases, in their order.
const (
	Widen    PhaseName = "widen"     // keys and children get 64 bits
	Readers  PhaseName = "readers"   // nothing in the database: readers are to be shipped
	Fence    PhaseName = "fence"     // writers that send no key are stopped
	SwitchOn PhaseName = "switch-on" // writers begin to send generated keys
	Drop     PhaseName = "drop"      // the counter goes
	Guard    PhaseName = "guard"     // small keys are refused, whoever sends them
)

// phaseNames are the phases in their order.
var phaseNames = []PhaseName{Widen, Readers, Fence, SwitchOn, Drop, Guard}

// A Phase is a part of a plan. Between two phases people have work to do, such as
// shipping a new release of the application.
type Phase struct {
	Name  PhaseName
	Notes []string // what it is for, and what is to be done by hand before the next
	Steps []Step
}

// How the SQL of a [Step] is run.
const (
	Exec     = "exec"     // once
	Check    = "check"    // a query that must return no row
	Count    = "count"    // a query whose number is kept, for Verify
	Backfill = "backfill" // a range of blocks at a time, which stand for $1 and $2
)

// A Step is one statement.
type Step struct {
	ID   string // the phase and a number: widen/3
	Text string // what it does
	Run  string // [Exec], [Check], [Count] or [Backfill]; or "lock", which locks tables, or fails at once
	SQL  string

	// Unit is the number of the transaction that the step belongs to; all steps with
	// the same number run in one transaction. A step with unit 0 runs outside of a
	// transaction, because the server cannot run it inside one.
	Unit int

	Locks    string // what it locks, and who waits
	Rewrites string // what it rewrites or copies; nothing if empty

	// Undo is the SQL that reverses the step once all later steps of the plan have been
	// reversed. It is empty if there is nothing to reverse.
	Undo []string

	// Remedy says what to do if a Check finds a row.
	Remedy string

	// Before and After are SQL that changes settings of the session before the step and
	// restores them afterwards. In a transaction, Before belongs to its first step and
	// After to its last one.
	Before, After []string

	// Done is a query that returns one truth value: whether the step has already been
	// applied. After a crash, Apply runs it for steps that are not in a transaction.
	Done string

	// Lasting says that Done stays true for the rest of the migration. Apply then also
	// runs Done before each later phase, because somebody may have reversed the step by
	// hand.
	Lasting bool

	// Retry is SQL that removes what a failed attempt left in the database.
	Retry string

	// Size is a query for how many blocks a Backfill has.
	Size string
}

// units returns the steps by transaction. A step in none is by itself.
func (p Phase) units() (units [][]Step) {
	for i, s := range p.Steps {
		if i > 0 && s.Unit != 0 && s.Unit == p.Steps[i-1].Unit {
			units[len(units)-1] = append(units[len(units)-1], s)
		} else {
			units = append(units, []Step{s})
		}
	}
	return units
}

// begun reports whether a step of the phase has an entry.
func (p Phase) begun(entries map[string]entry) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { _, known := entries[s.ID]; return known })
}

func ids(steps []Step) (ids []string) {
	for _, s := range steps {
		ids = append(ids, s.ID)
	}
	return ids
}

// phase returns the phase of a name, or one without steps.
func (p *Plan) phase(name PhaseName) Phase {
	for _, phase := range p.Phases {
		if phase.Name == name {
			return phase
		}
	}
	return Phase{Name: name}
}

// NewPlan inspects a database and plans the migration of its auto-increment keys.
// It changes nothing, and uses a single connection until it returns.
//
// Errors wrap [ErrRefused], [ErrTable], [ErrUnfinished], or an error of
// [catalog.Inspect].
func NewPlan(ctx context.Context, db *sql.DB, options PlanOptions) (*Plan, error) {
	if db == nil {
		return nil, errors.New("autoinc: there is no database; pass an open *sql.DB")
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("autoinc: %w", err)
	}
	defer conn.Close()
	plan, err := makePlan(ctx, conn, options, (*planner).refuseUndecided)
	if err != nil {
		return nil, err
	}
	l := ledger{server: plan.server(), table: plan.Progress}
	if err := l.refuseUnfinished(ctx, conn, ""); err != nil {
		return nil, err
	}
	return plan, nil
}

func (p *Plan) server() server {
	return server{database.Server{Dialect: p.Dialect, Version: p.Version}}
}

// makePlan plans over one connection. It calls refuse when the keys are known.
func makePlan(ctx context.Context, conn *sql.Conn, options PlanOptions, refuse func(*planner)) (*Plan, error) {
	if options.Floor == 0 {
		options.Floor = DefaultFloor
	}
	if options.Floor < 0 {
		return nil, fmt.Errorf("autoinc: the floor %d is negative; it is the least key that may be sent, such as %d", options.Floor, int64(DefaultFloor))
	}
	found, err := database.Identify(ctx, conn, options.Dialect)
	if err != nil {
		return nil, err
	}
	s := server{found}
	restore, err := s.plainly(ctx, conn)
	if err != nil {
		return nil, err
	}
	defer restore()
	report, err := catalog.InspectConn(ctx, conn, options.Options)
	if err != nil {
		return nil, err
	}
	p := &planner{server: s, options: options, report: report}
	if err := p.choose(); err != nil {
		return nil, err
	}
	refuse(p)
	if len(p.keys) > 0 {
		err = s.syntax().plan(p, ctx, conn)
	}
	if err != nil {
		return nil, err
	}
	p.noteRoutines()
	if len(p.refusals) > 0 {
		return nil, refused(s, p.refusals)
	}
	return p.plan(), nil
}

// mysqlMode is the sql_mode for making and applying plans. It is strict, but it allows
// invalid dates, so that a copy of a table keeps dates that do not exist. Names are
// quoted with backticks, and a backslash escapes.
const mysqlMode = "STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION"

// plainly changes the session so that the server always writes definitions in the same
// form, with qualified names and the same quotes.
func (s server) plainly(ctx context.Context, conn *sql.Conn) (restore func(), err error) {
	setting, set, plain := s.syntax().setting, s.syntax().set, s.syntax().plain
	if setting == "" {
		return func() {}, nil
	}
	was, err := database.One(ctx, conn, setting, database.Text)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf(set, s.Literal(plain))); err != nil {
		return nil, fmt.Errorf("autoinc: %w", err)
	}
	return func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf(set, s.Literal(was))) }, nil // if it fails, so has the connection
}
