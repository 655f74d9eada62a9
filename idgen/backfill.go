package idgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A BackfillConfig configures a [Backfill].
type BackfillConfig struct {
	// Layout must be the layout of the pool whose ids are in the same column. Defaults
	// to DefaultLayout().
	Layout Layout

	// Worker is a worker number reserved for this backfill. No process may have used it
	// for a time before End, and no other backfill may use it for the same table.
	// snowkey.OpenBackfill will reserve one in the lease tables. Without leases, pick a
	// number you don't give to any process, or use a layout with a different value in a
	// fixed field.
	Worker int64

	// End is when the pool's processes may start using the worker number. Times from End
	// on are an error. Defaults to the end of the layout's lifetime.
	End time.Time

	// Field is the Go name of the model field that the integrations take a row's time
	// from. Defaults to "CreatedAt".
	Field string
}

// A Backfill makes ids for rows that already have a time, e.g. imported ones. Each id
// carries the time of its row, so sorting a table by key gives the same order as sorting
// it by time.
//
// # Uniqueness
//
// Ids can only be equal if they have the same worker number and the same counter (tick
// and sequence). No other process has this worker number for any time before End, which
// sets the ids of a Backfill apart from all others. Within the Backfill, a table's
// counters are computed as in a [Generator]:
//
//	next = max(last + 1, tick of the row << sequenceBits | spread)
//
// # Order
//
// Pass the rows of a table in order of time. At sorts the rows of each call, keeping the
// order of rows with equal times, but later calls can't go back to earlier times, because
// a Backfill's memory doesn't grow with the number of rows. When a tick is full, ids
// continue in the next one, and [Backfill.Moved] counts the rows this happened to. Each
// tick has room for at least three quarters of its sequence.
//
// # Repetition
//
// Ids only depend on the configuration, the table name and the times. It doesn't matter
// how the sorted rows are divided into calls, so you can restart an interrupted import
// from the first row, and existing rows will get the key they already have.
//
// A Backfill is a [Source] for the integrations, which take times from the rows. It's
// safe for concurrent use, but which ids the rows get then depends on the order of the
// calls.
type Backfill struct {
	cfg    BackfillConfig
	core   *core
	shared uint64 // the bits that all ids have in common

	mu       sync.Mutex // guards the fields below
	tables   map[string]place
	moved    int64
	furthest time.Duration
}

// A place is how far the ids of a table are.
type place struct {
	last   int64 // the last counter
	latest int64 // the tick of the latest row
}

// NewBackfill checks cfg and returns a Backfill.
func NewBackfill(cfg BackfillConfig) (*Backfill, error) {
	pool := Config{Layout: cfg.Layout, NoSpread: true}.withDefaults()
	l := pool.Layout
	cfg.Layout, cfg.Field = l, cmp.Or(cfg.Field, "CreatedAt")
	if err := l.worker.check(workerField, cfg.Worker); err != nil {
		return nil, err
	}
	b := &Backfill{
		core:   newCore(pool),
		shared: l.fixed | l.worker.put(cfg.Worker),
		tables: map[string]place{},
	}
	// The offsets must be the same each time. A quarter of a tick is enough for id % N.
	b.core.spread = newSpread(max(l.sequence.bits, 2)-2, 0x9e3779b97f4a7c15)
	if end := l.Lifetime().End; cfg.End.IsZero() || cfg.End.After(end) {
		cfg.End = end
	} else if tick, err := l.tick(cfg.End); err == nil { // otherwise it is the end of the lifetime
		b.core.limit = tick << l.sequence.bits
	} else if cfg.End.Before(end) {
		return nil, err
	}
	b.cfg = cfg
	return b, nil
}

// Config returns the configuration with the defaults filled in.
func (b *Backfill) Config() BackfillConfig { return b.cfg }

// At returns ids for rows with the given times, in the order of times. The table can be
// any name. Ids are unique and ascending within a table, but two tables may have the same
// ids. If a row can't have an id (say its time is outside the layout's lifetime) then no
// row gets one, and the error tells you which row it was.
func (b *Backfill) At(table string, times []time.Time) ([]int64, error) {
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return times[i].Compare(times[j]) })
	ids := make([]int64, len(times))

	b.mu.Lock()
	defer b.mu.Unlock()
	p, moved, furthest := b.tables[table], b.moved, b.furthest
	for _, i := range order {
		tick, err := b.cfg.Layout.tick(times[i])
		if err != nil {
			return nil, &rowError{i, err}
		}
		if tick < p.latest {
			return nil, &rowError{i, fmt.Errorf("its time %s is before that of an earlier call for %q, %s; pass the rows in the order of their times, or use another worker number",
				stamp(times[i]), table, stamp(b.cfg.Layout.timeOf(p.latest)))}
		}
		next := max(p.last+1, tick<<b.core.sequence.bits+b.core.spread.at(tick))
		if next >= b.core.limit {
			return nil, &rowError{i, fmt.Errorf("the id of its time %s would not be before %s, when processes may begin to use worker number %d; take the ids of new rows from a pool",
				stamp(times[i]), stamp(b.cfg.End), b.cfg.Worker)}
		}
		if by := next>>b.core.sequence.bits - tick; by > 0 {
			moved, furthest = moved+1, max(furthest, time.Duration(by)*b.core.unit)
		}
		ids[i] = b.core.id(b.shared, next)
		p = place{next, tick}
	}
	b.tables[table], b.moved, b.furthest = p, moved, furthest
	return ids, nil
}

// Moved returns how many rows got an id with a later tick than their time because their
// tick was full, and the largest such difference.
func (b *Backfill) Moved() (rows int64, furthest time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.moved, b.furthest
}

var errNoTime = errors.New("idgen: a Backfill needs the time of each row; call At, or use an integration")

// Next implements [Source]. It always fails, because an id needs the time of its row.
func (b *Backfill) Next(context.Context) (int64, error) { return 0, errNoTime }

// Append implements [Source]. Like Next, it always fails.
func (b *Backfill) Append(_ context.Context, dst []int64, _ int) ([]int64, error) {
	return dst, errNoTime
}

// A rowError says which row of a call of At can't have an id.
type rowError struct {
	row int
	err error
}

func (e *rowError) Error() string {
	return fmt.Sprintf("idgen: row %d: %s", e.row, strings.TrimPrefix(e.err.Error(), "idgen: "))
}

func (e *rowError) Unwrap() error { return e.err }

// Row returns the index of the row, for the integrations.
func (e *rowError) Row() int { return e.row }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
