package autoinc

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// DefaultFloor is the default for [PlanOptions.Floor]. No auto-increment counter gets
// this far in practice, and generated keys are well above it.
const DefaultFloor = database.BeyondCounting

// PlanOptions controls what [NewPlan] plans. The zero value plans the migration of every
// key found by [catalog.Inspect].
type PlanOptions struct {
	catalog.Options

	// Tables are the tables to migrate to generated keys. A Schema may be omitted if only
	// one such table has that name, or be written in front of the Name, as in app.orders.
	// Defaults to all tables with an auto-increment key.
	Tables []catalog.Name

	// Except are tables that should stay on auto-increment.
	Except []catalog.Name

	// Online widens tables while the application keeps reading and writing them, by
	// replacing each column with a second one, or on MySQL and MariaDB each table with a
	// copy. It takes longer and needs more disk space. SQLite's columns are wide enough
	// already, and MariaDB 11.2 and later don't need it.
	Online bool

	// Composite allows keys that are part of a composite primary key, as well as unique
	// keys that aren't the primary key. NewPlan refuses both by default, because the
	// number might actually be a count (e.g. an order number, or one that starts at 1 for
	// each value of the other columns).
	Composite bool

	// Default is a database function that generates keys, such as snowkey_next(). It
	// becomes the keys' column default when their counter is dropped, which means that
	// writers don't have to be changed. Only Postgres supports this.
	Default string

	// Rekey plans new values for keys, instead of the migration to generated keys. Tables
	// then defaults to all tables whose primary key is a single column that doesn't
	// reference anything.
	Rekey *RekeyOptions

	// Floor is the smallest key that new rows can have after the guard phase. It has to
	// be above every auto-increment key, but not above any generated key. Defaults to
	// DefaultFloor.
	Floor int64
}

// A Plan contains the SQL statements, in order, for migrating a database's keys from
// auto-increment to generated keys. Make one with [NewPlan]. [Plan.WriteText] writes it
// in a form that people can review, and [ReadPlan] reads that back. [Apply] runs the
// plan, and [Verify] checks the result.
type Plan struct {
	Dialect  catalog.Dialect `json:"dialect"`
	Version  string          `json:"version"`  // of the server for which the plan was made
	Database string          `json:"database"` // the name of the database, or of its file on SQLite
	Online   bool            `json:"online"`
	Default  string          `json:"default,omitempty"` // the function that generates keys for rows without one, if any
	Floor    int64           `json:"floor"`
	Phases   []Phase         `json:"phases"` // in order, including those without steps; only Drop and Guard if that is all there is to do

	// Tables are the tables whose keys are migrated. Generated has a query per key that
	// returns a row if there's already a generated one. By that point nothing can be
	// reversed anymore: the key wouldn't fit into a narrow column, and a counter would
	// continue from it.
	Tables    []catalog.Name `json:"tables"`
	Generated []string       `json:"-"`

	progress    catalog.Name // the table that holds the progress of Apply
	keys        []plannedKey
	references  []catalog.Reference  // of the keys and the columns that hold them, as they were
	rekey       *RekeyOptions        // as given in the options
	children    []catalog.ForeignKey // as given in the options
	notChildren []catalog.Column
	sizes       []tableSize
	speed       speed
}

// A plannedKey is what [Verify] needs to know about a key.
type plannedKey struct {
	Column  catalog.Column   `json:"column"`            // before the migration
	Also    []catalog.Name   `json:"also,omitempty"`    // partitions and inheriting tables
	Holders []catalog.Column `json:"holders,omitempty"` // the columns of foreign keys to it
}

// columns returns the key and the columns that hold it.
func (k plannedKey) columns() []catalog.Column {
	return append([]catalog.Column{k.Column}, k.Holders...)
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

// A Phase is part of a plan. Some work has to be done by people between phases, such as
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
	Backfill = "backfill" // once for each range of blocks or keys, above $1 and up to $2
)

// A Step is one statement.
type Step struct {
	ID   string `json:"id"`   // the phase and a number, such as widen/3
	Text string `json:"text"` // a description
	Run  string `json:"run"`  // [Exec], [Check], [Count] or [Backfill]; or "lock", which locks tables without waiting for long; or "times" and "assign", which give rows new keys
	SQL  string `json:"sql"`

	// Unit is the number of the transaction the step belongs to. Steps with the same
	// number run in the same transaction. Unit 0 is for steps that have to run outside of
	// any transaction, because the server doesn't support them inside one.
	Unit int `json:"transaction,omitempty"`

	Locks    string `json:"locks,omitempty"`    // what it locks, and who has to wait
	Rewrites string `json:"rewrites,omitempty"` // what it rewrites or copies, if anything
	Copies   string `json:"copies,omitempty"`   // the table whose rows it writes again, if any, quoted as in SQL

	// Undo is the SQL for reversing the step, or empty if there's nothing to reverse. It
	// only works once all later steps in the plan have been reversed. Where it contains
	// the comment /* counted */, the value following that is replaced with the result of
	// the last Count before the step.
	Undo []string `json:"undo,omitempty"`

	// UndoChecks are queries that must not return any rows, because Undo would fail if
	// they did. They're run for all steps before the first one is reversed.
	UndoChecks []string `json:"undoChecks,omitempty"`

	// Remedy says what to do when a Check returns a row.
	Remedy string `json:"remedy,omitempty"`

	// Before and After are SQL for changing session settings before the step and
	// restoring them afterwards. In a transaction, the first step has Before and the last
	// one has After.
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`

	// Done is a query returning whether the step has already been applied, as a single
	// truth value. Apply uses it after a crash, for steps that don't run in a
	// transaction.
	Done string `json:"done,omitempty"`

	// Lasting is true if Done stays true for the rest of the migration. In that case,
	// Apply runs Done again before each later phase, just in case somebody has reversed
	// the step by hand.
	Lasting bool `json:"lasting,omitempty"`

	// Retry is SQL for removing anything a failed attempt might have left behind.
	Retry string `json:"retry,omitempty"`

	// Size is a query for the last block or key of a Backfill's next range, and of its last
	// range. Its parameters are where the range before ended, and the number of rows.
	Size string `json:"size,omitempty"`
}

// reads reports whether the step changes nothing.
func (s Step) reads() bool { return s.Run == Check || s.Run == Count || s.Run == timing }

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

// statements returns what steps execute, without checks.
func statements(steps []Step) (all []string) {
	for _, s := range steps {
		if s.Run != Check {
			all = append(all, s.SQL)
		}
	}
	return all
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
		if !slices.Contains(p.Tables, k.Column.Table) {
			p.Tables = append(p.Tables, k.Column.Table)
		}
		if !p.rekeyed() { // otherwise Undo has the old keys
			p.Generated = append(p.Generated, s.fill("generated", "{key}", s.Quote(k.Column.Name), "{table}", s.name(k.Column.Table), "{floor}", fmt.Sprint(p.Floor)))
		}
	}
}

func (p *Plan) schemas() (names []string) {
	for _, table := range p.Tables {
		names = append(names, table.Schema)
	}
	return names
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

// NewPlan inspects a database and plans the migration of its auto-increment keys. It's
// read-only and uses a single connection.
//
// The error wraps [ErrRefused], [ErrTable], [ErrUnfinished], or an error from
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
	l := ledger{server: plan.server(), conn: conn, table: plan.progress} // without a sum, every plan is another one
	if _, err := l.own(ctx); err != nil {
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
	began := time.Now()
	options.Floor = cmp.Or(options.Floor, DefaultFloor)
	if options.Floor < 0 {
		return nil, fmt.Errorf("autoinc: the floor %d is negative; it is the least key that may be sent, such as %d", options.Floor, int64(DefaultFloor))
	}
	found, err := database.Identify(ctx, conn)
	if err != nil {
		return nil, err
	}
	s := server{found}
	restore, err := s.Set(ctx, conn, s.settings("plain")...)
	if err != nil {
		return nil, err
	}
	defer restore() // if this fails, the connection is unusable anyway
	if options.Default != "" && s.Dialect != catalog.Postgres {
		return nil, fmt.Errorf("autoinc: %s has no default that generates keys; plan without it (--default), and use a trigger, see docs/sql-default.md", s.Dialect)
	}
	options.AllKeys = options.Rekey != nil
	c, plan := &changes{options: options, compared: compared}, dialects[s.Dialect].plan
	if options.Rekey != nil {
		plan = dialects[s.Dialect].rekey
		err = c.completeRekey(s.Dialect)
	}
	if err == nil {
		err = c.read(ctx, conn, s)
	}
	if err != nil {
		return nil, err
	}
	p := &planner{changes: c, steps: make(map[PhaseName][]Step), notes: make(map[PhaseName][]string)}
	if len(c.keys) > 0 {
		err = plan(ctx, conn, p)
	}
	if err == nil && len(c.keys) > 0 && compared == nil && len(c.refusals) == 0 {
		p.speed.Planning = time.Since(began)
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
