package autoinc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// DefaultFloor is used if [PlanOptions.Floor] is 0. In practice no auto-increment
// counter gets that far, and generated keys are well above it.
const DefaultFloor = database.BeyondCounting

// PlanOptions control what [NewPlan] plans. The zero value plans the migration of every
// key that [catalog.Inspect] finds.
type PlanOptions struct {
	catalog.Options

	// Tables are the tables to migrate to generated keys. Defaults to all tables
	// with an auto-increment key.
	Tables []catalog.Name

	// Except are tables that should keep auto-increment.
	Except []catalog.Name

	// Online widens tables while the application reads and writes them, as far as the
	// server allows. On Postgres, each column is replaced with a second one. On MySQL
	// and MariaDB, only the foreign keys can be added without locking. An online
	// migration takes longer and needs more disk space.
	Online bool

	// Composite allows keys that are one column of a composite primary key, and keys that
	// are unique without being the primary key. NewPlan refuses these by default, because
	// such a number may be meant to count, from 1 for each value of the other columns or
	// as the number of an order.
	Composite bool

	// Default is a function of the database that generates keys, such as snowkey_next().
	// It becomes the default of the keys when their counter is dropped, so that no writer
	// has to be changed. Only Postgres can do that.
	Default string

	// Floor is the smallest key that a new row may have once the guard phase has been
	// applied. It must be above every auto-increment key, and every generated key must
	// be at least as large. Defaults to DefaultFloor.
	Floor int64
}

// A Plan has the SQL statements, in order, that migrate the keys of one database from
// auto-increment to generated keys. [NewPlan] makes a plan, [Plan.WriteText] writes it
// for a reviewer, and [ReadPlan] reads that text back. [Apply] then runs the plan, and
// [Verify] checks the result.
type Plan struct {
	Dialect  catalog.Dialect
	Version  string // of the server for which the plan was made
	Database string // the name of the database, or of its file on SQLite
	Online   bool
	Default  string // the function that generates keys for rows without one, if any
	Floor    int64
	Progress catalog.Name // the table that holds the progress of Apply
	Phases   []Phase      // in order, including those without steps; only Drop and Guard if that is all there is to do

	// Generated has a query for each table, which returns a row if the table has a
	// generated key. Nothing can be reversed then, because a narrow column cannot hold
	// such a key and a counter would continue from it.
	Generated []string

	keys        []plannedKey
	children    []catalog.ForeignKey // as given in the options
	notChildren []catalog.Column
	sizes       []tableSize
	rate        int64 // the bytes that the server copies in a second, or 0 if that isn't known
}

// A plannedKey is what [Verify] needs to know about a key.
type plannedKey struct {
	Column     catalog.Column    `json:"column"` // before the migration
	Mechanism  catalog.Mechanism `json:"mechanism"`
	Also       []catalog.Name    `json:"also,omitempty"`       // partitions and inheriting tables
	Holders    []catalog.Column  `json:"holders,omitempty"`    // the columns of foreign keys to it
	References []reference       `json:"references,omitempty"` // the foreign keys themselves
}

// A reference is a complete foreign key.
type reference struct {
	Name     string       `json:"name,omitempty"` // always empty on SQLite
	Child    catalog.Name `json:"child"`
	Columns  []string     `json:"columns"`
	Parent   catalog.Name `json:"parent"`
	Keys     []string     `json:"keys"` // the referenced columns
	OnUpdate string       `json:"onUpdate"`
	OnDelete string       `json:"onDelete"`
	Match    string       `json:"match,omitempty"`  // the MATCH clause as SQL, unless it is the default
	Detail   string       `json:"detail,omitempty"` // when the foreign key is checked, as SQL, unless that is at once
	Valid    bool         `json:"valid"`            // Postgres: whether all rows have been checked
}

func (r reference) same(other reference) bool {
	return r.Child == other.Child && r.Parent == other.Parent && slices.Equal(r.Columns, other.Columns) && slices.Equal(r.Keys, other.Keys)
}

// A PhaseName names a phase.
type PhaseName string

// The phases, in order.
const (
	Widen    PhaseName = "widen"     // makes keys and children 64 bits wide
	Readers  PhaseName = "readers"   // no change; readers must be deployed that accept 64 bits
	Fence    PhaseName = "fence"     // stops writers that send no key
	SwitchOn PhaseName = "switch-on" // allows writers to send generated keys
	Drop     PhaseName = "drop"      // drops the counter
	Guard    PhaseName = "guard"     // rejects small keys from all writers
)

// phaseNames lists the phases in order.
var phaseNames = []PhaseName{Widen, Readers, Fence, SwitchOn, Drop, Guard}

// A Phase is a part of a plan. Between two phases there is work for people, such as
// deploying a new release of the application.
type Phase struct {
	Name  PhaseName
	Notes []string // what the phase is for, and what must be done by hand before the next one
	Steps []Step
}

// How to run the SQL of a [Step].
const (
	Exec     = "exec"     // once
	Check    = "check"    // a query that must not return a row
	Count    = "count"    // a query whose result is kept for Verify or Undo
	Backfill = "backfill" // once for each range of blocks, from $1 to $2
)

// A Step is one statement.
type Step struct {
	ID   string // the phase and a number, such as widen/3
	Text string // a description
	Run  string // [Exec], [Check], [Count] or [Backfill]; or "lock", which locks tables without waiting for long
	SQL  string

	// Unit is the number of the transaction that the step belongs to. All steps with
	// the same number run in one transaction. A step with unit 0 runs outside of any
	// transaction, because the server can't run it inside one.
	Unit int

	Locks    string // what it locks, and who has to wait
	Rewrites string // what it rewrites or copies, if anything

	// Undo is the SQL that reverses the step. It can only be used after all later steps
	// of the plan have been reversed. It is empty if there is nothing to reverse. In place
	// of the value after the comment /* counted */, Undo puts the result of the last Count
	// before the step.
	Undo []string

	// UndoChecks are queries that must not return a row, because Undo would fail. Undo
	// runs those of all steps before it reverses the first one.
	UndoChecks []string

	// Remedy says what to do if a Check returns a row.
	Remedy string

	// Before and After are SQL that changes settings of the session before the step,
	// and restores them afterwards. For a transaction, Before is set on the first step
	// and After on the last one.
	Before, After []string

	// Done is a query for whether the step has already been applied, and returns a
	// single truth value. Apply uses it after a crash, for steps that don't run in a
	// transaction.
	Done string

	// Lasting is true if Done stays true for the rest of the migration. Apply then also
	// runs Done before each later phase, in case somebody has reversed the step by
	// hand.
	Lasting bool

	// Retry is SQL that removes what a failed attempt may have left in the database.
	Retry string

	// Size is a query for the number of blocks that a Backfill has to fill.
	Size string
}

// units groups the steps by transaction. A step outside of a transaction is a unit of
// its own.
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

// begun reports whether any step of the phase has an entry.
func (p Phase) begun(entries map[string]entry) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { _, known := entries[s.ID]; return known })
}

// executed returns what the step at i would run, which is nothing if there is no such
// step.
func (p Phase) executed(i int) (sql [7]string) {
	if i < len(p.Steps) {
		s := p.Steps[i]
		joined := s.Unit != 0 && i > 0 && p.Steps[i-1].Unit == s.Unit // the numbers differ if earlier phases do
		how := fmt.Sprintf("%s, in a transaction: %t, that of the last step: %t, lasting: %t, %s", s.Run, s.Unit != 0, joined, s.Lasting, s.Retry)
		sql = [...]string{s.SQL, s.Done, s.Size, how, strings.Join(s.Undo, ";\n"), strings.Join(s.Before, ";\n"), strings.Join(s.After, ";\n")}
	}
	return sql
}

func ids(steps []Step) (ids []string) {
	for _, s := range steps {
		ids = append(ids, s.ID)
	}
	return ids
}

func (p *Plan) add(k plannedKey) {
	s := p.server()
	p.keys = append(p.keys, k)
	key := s.Quote(k.Column.Name)
	if s.Dialect == catalog.Postgres {
		// Otherwise the type of the result changes when the column is widened, which makes
		// statements fail that a driver such as pgx has prepared before.
		key += "::bigint"
	}
	p.Generated = append(p.Generated, fmt.Sprintf("SELECT %s FROM %s WHERE %s >= %d LIMIT 1", key, s.name(k.Column.Table), s.Quote(k.Column.Name), p.Floor))
}

// phase returns the phase with the given name, or one without steps if there is none.
func (p *Plan) phase(name PhaseName) Phase {
	for _, phase := range p.Phases {
		if phase.Name == name {
			return phase
		}
	}
	return Phase{Name: name}
}

// NewPlan inspects a database and plans the migration of its auto-increment keys. It
// does not change anything, and uses a single connection until it returns.
//
// The error wraps [ErrRefused], [ErrTable], [ErrUnfinished], or an error of
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
	plan, err := makePlan(ctx, conn, options, nil)
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

// makePlan makes a plan using the given connection. If a plan that was made before is to
// be compared with it, makePlan doesn't look at rows again.
func makePlan(ctx context.Context, conn *sql.Conn, options PlanOptions, compared *Plan) (*Plan, error) {
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
	if options.Default != "" && s.Dialect != catalog.Postgres {
		return nil, fmt.Errorf("autoinc: %s has no default that generates keys; plan without it (--default), and use a trigger, see docs/sql-default.md", s.Dialect)
	}
	p := &planner{server: s, options: options, report: report, compared: compared}
	uniques, err := s.uniques(ctx, conn)
	if err != nil {
		return nil, err
	}
	p.unique = make(map[place]bool)
	for table, indexes := range uniques {
		for _, columns := range indexes {
			p.unique[place{table.Schema, table.Name, columns[0]}] = p.unique[place{table.Schema, table.Name, columns[0]}] || len(columns) == 1
		}
	}
	if err := p.choose(); err != nil {
		return nil, err
	}
	p.refuseUndecided()
	if err = p.refuseConditions(ctx, conn); err == nil && len(p.keys) > 0 {
		err = s.syntax().plan(p, ctx, conn)
	}
	if err == nil && len(p.keys) > 0 && compared == nil && len(p.refusals) == 0 {
		err = p.measure(ctx, conn)
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

// mysqlMode is the sql_mode in which plans are made and applied. It's strict, except
// that it allows invalid dates, so that a copy of a table can keep dates that don't
// exist. It quotes names with backticks, and a backslash in a string escapes.
const mysqlMode = "STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION"

// plainly changes the session so that the server writes definitions in the same form
// every time, with qualified names and the same quotes.
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
	// If restoring fails, the connection is unusable anyway.
	if s.Dialect != catalog.Postgres {
		return func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf(set, s.Literal(was))) }, nil
	}
	// The joins of our queries are written in a good order. Postgres takes longer to look for
	// a better one than to execute them.
	_, err = conn.ExecContext(ctx, "SET join_collapse_limit = 1")
	return func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf(set, s.Literal(was)))
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "RESET join_collapse_limit")
	}, err
}
