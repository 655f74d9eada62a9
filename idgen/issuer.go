package idgen

import (
	"context"
	"time"
)

// A Lessor grants a leased pool its worker number and its counters, through an
// [*Issuer].
type Lessor interface {
	// Want is told that counters below end are needed and not yet granted, or, with
	// 0, that the clock looks wrong with the last correction. It must not block,
	// and may be called by many goroutines at once.
	Want(end int64)

	// Close seals the issuer and gives the worker number back. The pool calls it
	// once, from Close.
	Close(ctx context.Context) error
}

// A Suspender is a Lessor that can give the worker number back for a time.
type Suspender interface {
	Lessor

	// Suspend seals the issuer and gives the worker number back.
	Suspend(ctx context.Context) error

	// Resume obtains a worker number and grants it. Both do nothing if that is the
	// state already, and both may be called at any time, also beside Close.
	Resume(ctx context.Context) error
}

// An Issuer is the side of a leased pool that its lessor steers. The counters
// that it is granted are those of the layout: ticks and sequence packed. Its
// methods are for one goroutine at a time.
type Issuer struct{ pool *Pool }

// Grant begins a tenure: ids are of worker, and their counters are at least
// start and below bound. The tenure before must have been sealed.
func (i *Issuer) Grant(worker, start, bound int64) {
	p := i.pool
	p.mu.Lock()
	p.tenure = p.newTenure(worker, start, bound)
	for _, g := range p.named.Range {
		g.(*Generator).seq.Store(p.tenure.sequence())
	}
	p.mu.Unlock()
	p.announce(nil)
}

// Extend raises the bound of the tenure; it never lowers it. Without a tenure it
// does nothing.
func (i *Issuer) Extend(bound int64) {
	p := i.pool
	p.mu.Lock()
	if t := p.tenure; t != nil {
		t.bound.Store(max(t.bound.Load(), min(bound, p.limit)))
	}
	p.mu.Unlock()
	p.announce(nil)
}

// Seal ends the tenure: once it returns, no id is issued under it. It returns
// the first counter that no generator has used, at least the tenure's start.
// Calls for ids wait for the next tenure and, if their context ends first, fail
// with reason.
func (i *Issuer) Seal(reason error) (unused int64) {
	p := i.pool
	p.mu.Lock()
	unused = p.seal()
	p.mu.Unlock()
	p.announce(reason)
	return unused
}

// Explain tells calls that wait for the lease why they do, nil for no reason.
func (i *Issuer) Explain(reason error) { i.pool.announce(reason) }

// Correct adds offset to what the pool's clock says from now on, instead of
// what an earlier call added; 0 takes it back. It is for a lessor that knows the
// time better than the host does. Calls that wait for the clock or for the lease
// look at the time anew: those for the lease at once, those for the clock within
// 100 ms. One that comes while the clock is wrong, and before Correct, may still
// fail with a [*ClockError].
//
// No id repeats, whatever the offset: a generator goes on above its last number.
// An id that the wrong clock gave a time ahead stays ahead, and calls behind it
// wait or fail until the clock is there.
func (i *Issuer) Correct(offset time.Duration) {
	p := i.pool
	p.clock.correct(offset)
	_, reason := p.watch()
	p.announce(reason)
}
