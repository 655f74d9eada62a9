package idgen

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNoPool is returned by the methods of a nil [*Pool]. Note that [Default] returns
	// nil until the program calls [SetDefault].
	ErrNoPool = errors.New("idgen: no pool is set; call idgen.SetDefault with a pool, or give the integration a source")

	// ErrClosed is returned by a pool and its generators after [Pool.Close].
	ErrClosed = errors.New("idgen: the pool is closed")

	// ErrNotLeased is returned by [Pool.Suspend] and [Pool.Resume] if the pool's worker
	// number isn't leased.
	ErrNotLeased = errors.New("idgen: the worker number of the pool is not leased, so a copy of the process would have it too; use snowkey.Open")

	// ErrWorkerInUse is returned by [NewPool] if another pool in this process already has
	// the same worker number and layout.
	ErrWorkerInUse = errors.New("idgen: the worker number is in use by another pool of this process with the same layout; share that pool, close it first, or use another number")

	// ErrTooManyNames is returned by generators for names beyond [Config.MaxNames].
	ErrTooManyNames = errors.New("idgen: the pool has no room for another name; use fewer names or raise Config.MaxNames")

	// ErrLayoutExhausted is returned after a layout's last tick or, with 64 bits, after
	// the last tick with positive ids. There's no point in retrying. The table needs a
	// layout with more time bits or a longer unit.
	ErrLayoutExhausted = errors.New("idgen: the layout has no time left; use a layout with more time bits or a longer unit")
)

// A ClockError is returned when the clock is too far behind the last id for a call to
// wait for it. Either the clock was set back, or a burst took more ids than the layout
// has for that time. The call can be retried after RetryAfter.
type ClockError struct {
	Behind     time.Duration // how far the clock is behind the next free id, 292 years at most
	RetryAfter time.Duration // how long to wait until a call returns at once, if the clock runs normally
	MaxWait    time.Duration // the limit that was exceeded
	Rollbacks  int           // the number of rollbacks that the layout allows if all are used up, otherwise 0
}

func (e *ClockError) Error() string {
	msg := fmt.Sprintf("idgen: the clock is %v behind the ids already issued, and a call waits %v at most; retry after %v, or raise Config.MaxAhead or MaxWait",
		e.Behind, e.MaxWait, e.RetryAfter)
	if e.Rollbacks > 0 {
		msg += fmt.Sprintf(" (all %d rollback numbers are used)", e.Rollbacks)
	}
	return msg
}

// A CountError is returned if a single call can't reserve that many ids.
type CountError struct {
	Count, Max int64
}

func (e *CountError) Error() string {
	return fmt.Sprintf("idgen: cannot reserve %d ids in one step; ask for 0 to %d", e.Count, e.Max)
}

// An OverlapError is returned by [Layout.Compatible] if both layouts can make the same
// id.
type OverlapError struct {
	ID       int64 // an id that both layouts can make
	New, Old Parts // the parts of ID in each layout
}

func (e *OverlapError) Error() string {
	in := func(p Parts) string {
		return fmt.Sprintf("of worker %d at %s, sequence %d", p.Worker, p.Time.Format(time.RFC3339Nano), p.Sequence)
	}
	return fmt.Sprintf("idgen: the layouts overlap: id %d is %s in the new one and %s in the old; use another value in a fixed field, or another namespace for another table",
		e.ID, in(e.New), in(e.Old))
}
