package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

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
	// with an auto-increment key. A Schema may be left empty if there is only one such
	// table, and be written in front of the Name instead, as in app.orders.
	Tables []catalog.Name

	// Except are tables that should keep auto-increment.
	Except []catalog.Name

	// Online widens tables while the application reads and writes them, by replacing
	// each column with a second one. It takes longer and needs more disk space. Only
	// Postgres can do that. MySQL and MariaDB copy a table while its writers wait, and
	// columns of SQLite are wide already.
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

	// Rekey plans other values for keys, instead of the migration to generated keys. The
	// Tables default to all whose primary key has one column that references nothing.
	Rekey *RekeyOptions

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
	Dialect  catalog.Dialect `json:"dialect"`
	Version  string          `json:"version"`  // of the server for which the plan was made
	Database string          `json:"database"` // the name of the database, or of its file on SQLite
	Online   bool            `json:"online"`
	Default  string          `json:"default,omitempty"` // the function that generates keys for rows without one, if any
	Floor    int64           `json:"floor"`
	Phases   []Phase         `json:"phases"` // in order, including those without steps; only Drop and Guard if that is all there is to do

	// Tables are the tables whose keys are migrated. For each key, Generated has a query
	// that returns a row if there is a generated one. Nothing can be reversed then, because
	// a narrow column cannot hold such a key and a counter would continue from it.
	Tables    []catalog.Name `json:"tables"`
	Generated []string       `json:"-"`

	progress    catalog.Name // the table that holds the progress of Apply
	keys        []plannedKey
	rekey       *RekeyOptions        // as given in the options
	children    []catalog.ForeignKey // as given in the options
	notChildren []catalog.Column
	sizes       []tableSize
	rate        int64 // the bytes that the server copies in a second, or 0 if that isn't known
}

// A plannedKey is what [Verify] needs to know about a key.
type plannedKey struct {
	Column     catalog.Column      `json:"column"` // before the migration
	Mechanism  catalog.Mechanism   `json:"mechanism"`
	Also       []catalog.Name      `json:"also,omitempty"`       // partitions and inheriting tables
	Holders    []catalog.Column    `json:"holders,omitempty"`    // the columns of foreign keys to it
	References []catalog.Reference `json:"references,omitempty"` // the foreign keys themselves
}

// rekeyed reports whether the keys of the plan get other values.
func (p *Plan) rekeyed() bool { return p.rekey != nil }

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
	Name  PhaseName `json:"name"`
	Notes []string  `json:"notes,omitempty"` // what the phase is for, and what must be done by hand before the next one
	Steps []Step    `json:"steps"`
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
	ID   string `json:"id"`   // the phase and a number, such as widen/3
	Text string `json:"text"` // a description
	Run  string `json:"run"`  // [Exec], [Check], [Count] or [Backfill]; or "lock", which locks tables without waiting for long; or "assign", which gives rows new keys
	SQL  string `json:"sql"`

	// Unit is the number of the transaction that the step belongs to. All steps with
	// the same number run in one transaction. A step with unit 0 runs outside of any
	// transaction, because the server can't run it inside one.
	Unit int `json:"transaction,omitempty"`

	Locks    string `json:"locks,omitempty"`    // what it locks, and who has to wait
	Rewrites string `json:"rewrites,omitempty"` // what it rewrites or copies, if anything
	Copies   string `json:"copies,omitempty"`   // the table whose rows it writes again, if any, quoted as in SQL

	// Undo is the SQL that reverses the step. It can only be used after all later steps
	// of the plan have been reversed. It is empty if there is nothing to reverse. In place
	// of the value after the comment /* counted */, Undo puts the result of the last Count
	// before the step.
	Undo []string `json:"undo,omitempty"`

	// UndoChecks are queries that must not return a row, because Undo would fail. Undo
	// runs those of all steps before it reverses the first one.
	UndoChecks []string `json:"undoChecks,omitempty"`

	// Remedy says what to do if a Check returns a row.
	Remedy string `json:"remedy,omitempty"`

	// Before and After are SQL that changes settings of the session before the step,
	// and restores them afterwards. For a transaction, Before is set on the first step
	// and After on the last one.
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`

	// Done is a query for whether the step has already been applied, and returns a
	// single truth value. Apply uses it after a crash, for steps that don't run in a
	// transaction.
	Done string `json:"done,omitempty"`

	// Lasting is true if Done stays true for the rest of the migration. Apply then also
	// runs Done before each later phase, in case somebody has reversed the step by
	// hand.
	Lasting bool `json:"lasting,omitempty"`

	// Retry is SQL that removes what a failed attempt may have left in the database.
	Retry string `json:"retry,omitempty"`

	// Size is a query for the number of blocks that a Backfill has to fill.
	Size string `json:"size,omitempty"`
}

// Transactions groups the steps by transaction. A step outside of a transaction is a group
// of its own.
func (p Phase) Transactions() (groups [][]Step) {
	for i, s := range p.Steps {
		if i > 0 && s.Unit != 0 && s.Unit == p.Steps[i-1].Unit {
			groups[len(groups)-1] = append(groups[len(groups)-1], s)
		} else {
			groups = append(groups, []Step{s})
		}
	}
	return groups
}

// begun reports whether any step of the phase has an entry.
func (p Phase) begun(entries map[string]entry) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { _, known := entries[s.ID]; return known })
}

func ids(steps []Step) (ids []string) {
	for _, s := range steps {
		ids = append(ids, s.ID)
	}
	return ids
}

// complete sets what follows from the keys.
func (p *Plan) complete() {
	s := p.server()
	for _, k := range p.keys {
		table, key := k.Column.Table, s.Quote(k.Column.Name)
		selected := key
		if s.Dialect == catalog.Postgres {
			// Otherwise the type of the result changes when the column is widened, which
			// makes statements fail that a driver such as pgx has prepared before.
			selected += "::bigint"
		}
		if !slices.Contains(p.Tables, table) {
			p.Tables = append(p.Tables, table)
		}
		if p.rekeyed() {
			continue // Undo has the old keys
		}
		p.Generated = append(p.Generated, fmt.Sprintf("SELECT %s FROM %s WHERE %s >= %d LIMIT 1", selected, s.name(table), key, p.Floor))
	}
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
	l := ledger{server: plan.server(), table: plan.progress} // without a sum, every plan is another one
	if _, err := l.own(ctx, conn); err != nil {
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
	options.Floor = cmp.Or(options.Floor, DefaultFloor)
	if options.Floor < 0 {
		return nil, fmt.Errorf("autoinc: the floor %d is negative; it is the least key that may be sent, such as %d", options.Floor, int64(DefaultFloor))
	}
	found, err := database.Identify(ctx, conn)
	if err != nil {
		return nil, err
	}
	s := server{found}
	restore, err := s.Set(ctx, conn, s.syntax().plain...)
	if err != nil {
		return nil, err
	}
	defer restore() // if this fails, the connection is unusable anyway
	if options.Default != "" && s.Dialect != catalog.Postgres {
		return nil, fmt.Errorf("autoinc: %s has no default that generates keys; plan without it (--default), and use a trigger, see docs/sql-default.md", s.Dialect)
	}
	read, plan := readChanges, s.syntax().plan
	if options.Rekey != nil {
		options.Rekey = options.Rekey.complete()
		read, plan = readRekey, s.syntax().rekey
	}
	c, err := read(ctx, conn, s, options, compared)
	if err != nil {
		return nil, err
	}
	p := &planner{changes: c, steps: make(map[PhaseName][]Step), notes: make(map[PhaseName][]string)}
	if len(c.keys) > 0 {
		err = plan(ctx, conn, p)
	}
	if err == nil && len(c.keys) > 0 && compared == nil && len(c.refusals) == 0 {
		err = p.measure(ctx, conn)
	}
	if err != nil {
		return nil, err
	}
	if len(c.refusals) > 0 {
		return nil, refused(s, c.refusals)
	}
	return p.plan(), nil
}
