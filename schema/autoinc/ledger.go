package autoinc

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/schema/internal/database"
)

// A state says how far a step or a phase has got.
type state string

const (
	started   state = "started"   // a step outside of a transaction has begun, and may have been applied
	done      state = "done"      // a step outside of a transaction, or a phase, is complete
	committed state = "committed" // the step was committed together with the rest of its transaction, or only reads
)

// A ledger is the table in which Apply records its progress. Under the checksum of the
// plan, it has a row for each step and for each phase.
type ledger struct {
	server
	conn  *sql.Conn
	table catalog.Name
	sum   string
}

// An entry is the row of a step or a phase.
type entry struct {
	state  state
	detail string // the result of a count, or the blocks that a backfill has filled
}

func (e entry) taken() bool { return e.state == done || e.state == committed }

func (l ledger) exists(ctx context.Context) (bool, error) {
	there := l.fill("ledger", "{schema}", l.Literal(l.table.Schema), "{name}", l.Literal(l.table.Name))
	if n, err := database.One(ctx, l.conn, there, database.Number); err != nil || n == 0 {
		return false, err
	}
	query := "SELECT count(*) FROM (SELECT plan, step, state, detail FROM " + l.name(l.table) + ") AS progress"
	if _, err := database.One(ctx, l.conn, query, database.Number); err != nil {
		return false, fail(ErrPlan, "%s is not a table of snowkey migrate, or cannot be read: %v; rename it", l.name(l.table), err)
	}
	return true, nil
}

// begin creates the table. If it exists, begin deletes what Control has said to an earlier Apply.
func (l ledger) begin(ctx context.Context) error {
	there, err := l.exists(ctx)
	switch {
	case err != nil:
		return err
	case there:
		return l.forget(ctx, control)
	}
	return l.exec(ctx, "%s", l.fill("create ledger", "{table}", l.name(l.table)))
}

func (l ledger) exec(ctx context.Context, format string, args ...any) error {
	if _, err := l.conn.ExecContext(ctx, fmt.Sprintf(format, args...)); err != nil {
		return fmt.Errorf("autoinc: keeping the progress: %w", err)
	}
	return nil
}

// find returns all entries of the plan, or nil if there is no table.
func (l ledger) find(ctx context.Context) (map[string]entry, error) {
	if there, err := l.exists(ctx); err != nil || !there {
		return nil, err
	}
	return l.read(ctx)
}

// read is find for a table that exists.
func (l ledger) read(ctx context.Context) (map[string]entry, error) {
	type row struct {
		step string
		entry
	}
	rows, err := database.List(ctx, l.conn, fmt.Sprintf("SELECT step, state, detail FROM %s WHERE plan = %s AND step <> %s", l.name(l.table), l.Literal(l.sum), l.Literal(control)), // which says nothing about the progress
		func(r *row) []any { return []any{&r.step, (*string)(&r.state), &r.detail} })
	if err != nil {
		return nil, err
	}
	entries := make(map[string]entry)
	for _, r := range rows {
		entries[r.step] = r.entry
	}
	return entries, nil
}

// own is find, but returns an error that wraps [ErrUnfinished] if a plan with another checksum
// stopped in the middle of a phase.
func (l ledger) own(ctx context.Context) (map[string]entry, error) {
	entries, err := l.find(ctx)
	if err != nil || entries == nil {
		return nil, err
	}
	type row struct{ plan, step string }
	rows, err := database.List(ctx, l.conn, l.fill("unfinished", "{table}", l.name(l.table), "{plan}", l.Literal(l.sum)), func(r *row) []any { return []any{&r.plan, &r.step} })
	if err != nil || len(rows) == 0 {
		return entries, err
	}
	phase, _, _ := strings.Cut(rows[0].step, "/")
	return nil, fail(ErrUnfinished, "the plan %.12s… has stopped in the phase %s, and the catalog does not show what it has dropped; apply that plan to the end of the phase, or delete its rows from %s if you have undone it by hand",
		rows[0].plan, phase, l.name(l.table))
}

// write adds an entry, or replaces the existing one.
func (l ledger) write(ctx context.Context, step string, e entry) error {
	return l.exec(ctx, "INSERT INTO %s (plan, step, state, detail) VALUES (%s, %s, %s, %s) %s",
		l.name(l.table), l.Literal(l.sum), l.Literal(step), l.Literal(string(e.state)), l.Literal(e.detail), l.query("upsert"))
}

// forget deletes entries.
func (l ledger) forget(ctx context.Context, steps ...string) error {
	return l.exec(ctx, "DELETE FROM %s WHERE plan = %s AND step IN (%s)", l.name(l.table), l.Literal(l.sum), l.Literals(steps))
}

// drop drops the table if there are no entries left.
func (l ledger) drop(ctx context.Context) error {
	n, err := database.One(ctx, l.conn, countRows+l.name(l.table), database.Number)
	if err != nil || n > 0 {
		return err
	}
	return l.exec(ctx, "DROP TABLE %s", l.name(l.table))
}
