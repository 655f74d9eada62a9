package idgen

import (
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

	// Worker is a worker number of the backfill's own. No process may have used it for a
	// time before End, and no other backfill may use it for the same table.
	// snowkey.OpenBackfill reserves such a number in the lease tables. Without leases, use
	// one that you give to no process, or a layout with another value in a fixed field.
	Worker int64

	// End is when the pool's processes may begin to use the worker number. Later times are
	// an error. Defaults to the end of the layout's lifetime.
	End time.Time

	// Field is the field of a model, by its name in Go, from which the integrations take
	// the time of a row. Defaults to "CreatedAt".
	Field string
}

// A Backfill makes ids for rows that already have a time, such as imported ones. Each id
// has the time of its row, so that the rows of a table sort by key as they sort by time.
//
// # Uniqueness
//
// Two ids can only be equal if they have the same worker number and the same counter, that
// is, tick and sequence. No other process has the worker number for a time before End, so
// the ids of a Backfill differ from all others. Within the Backfill, the counters of a table
// are made as in a [Generator]:
//
//	next = max(last + 1, tick of the row << sequenceBits | spread)
//
// # Order
//
// Pass the rows of a table in the order of their times. Within a call, At sorts them, and
// rows with equal times keep their order. Later calls can't have earlier times, because the
// memory of a Backfill doesn't grow with the number of rows. If a tick is full, ids continue
// in the next one, and [Backfill.Moved] counts these rows. A tick has room for at least three
// quarters of its sequence.
//
// # Repetition
//
// The ids depend only on the configuration, the name of the table, and the times, but not on
// how sorted rows are divided into calls. So an import that was interrupted can be repeated
// from the first row: rows that exist get the key that they have.
//
// A Backfill is a [Source] for the integrations, which take the times from the rows. It is
// safe for concurrent use, but then the order of the calls decides which ids rows get.
type Backfill struct {
	cfg    BackfillConfig
	core   *core
	shared uint64 // the bits that all ids have in common
	spread spread
	limit  int64 // the first counter that may not be issued

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
	if cfg.Layout.IsZero() {
		cfg.Layout = DefaultLayout()
	}
	if cfg.Field == "" {
		cfg.Field = "CreatedAt"
	}
	l := cfg.Layout
	if err := l.worker.check(workerField, cfg.Worker); err != nil {
		return nil, err
	}
	b := &Backfill{
		core:   newCore(Config{Layout: l, NoSpread: true}.withDefaults()),
		shared: l.fixed | l.worker.put(cfg.Worker),
		// The offsets must be the same each time. A quarter of a tick is enough for id % N.
		spread: newSpread(max(l.sequence.bits, 2)-2, 0x9e3779b97f4a7c15),
		tables: map[string]place{},
	}
	b.limit = b.core.limit
	if end := l.Lifetime().End; cfg.End.IsZero() || cfg.End.After(end) {
		cfg.End = end
	} else if tick, err := l.tick(cfg.End); err == nil { // otherwise it is the end of the lifetime
		b.limit = tick << b.core.seqBits
	} else if cfg.End.Before(end) {
		return nil, err
	}
	b.cfg = cfg
	return b, nil
}

// Config returns the configuration with the defaults filled in.
func (b *Backfill) Config() BackfillConfig { return b.cfg }

// At returns ids for the times of rows, in the order of times. The table can be any name.
// The ids of one table are unique and ascend, but two tables may have the same ids. If a row
// can't have an id, such as one with a time outside the layout's lifetime, the error names it,
// and no row gets one.
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
		next := max(p.last+1, tick<<b.core.seqBits+b.spread.at(tick))
		if next >= b.limit {
			return nil, &rowError{i, fmt.Errorf("the id of its time %s would not be before %s, when processes may begin to use worker number %d; take the ids of new rows from a pool",
				stamp(times[i]), stamp(b.cfg.End), b.cfg.Worker)}
		}
		if by := next>>b.core.seqBits - tick; by > 0 {
			moved, furthest = moved+1, max(furthest, time.Duration(by)*b.core.unit)
		}
		ids[i] = b.core.id(b.shared, next)
		p = place{next, tick}
	}
	b.tables[table], b.moved, b.furthest = p, moved, furthest
	return ids, nil
}

// Moved returns how many rows got an id with a later tick than their time, because their
// tick was full, and by how much at most.
func (b *Backfill) Moved() (rows int64, furthest time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.moved, b.furthest
}

var errNoTime = errors.New("idgen: a Backfill needs the time of each row; call At, or use an integration")

// Next implements [Source]. It always fails, because an id needs the time of its row.
func (b *Backfill) Next(context.Context) (int64, error) { return 0, errNoTime }

// Append implements [Source]. It always fails, as Next does.
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
